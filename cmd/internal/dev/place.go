package dev

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"github.com/go-json-experiment/json"

	"berth/cmd/internal/config"
	"berth/cmd/internal/devca"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
)

// place is the directory that keeps the state, and where in it and on the machine everything is.
type place struct {
	dir               string // absolute
	lock              io.Closer
	notes             []string // what a person should know of how it came about
	ca                *devca.CA
	api               string // host:port
	metrics           string // host:port
	enroll            string // host:port
	ingressAt         string // host:port
	nodes             []node
	origin            origin
	shelf             shelf
	socket            string // of the internal listener; as short as it can be said
	certFile, keyFile string
}

// openPlace makes the directory where there is none, and takes it for this process alone.
func openPlace(ctx context.Context, o Options) (_ *place, err error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := listen.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("another berthd dev runs in %s: %w", dir, err)
	}
	p := &place{dir: dir, lock: lock}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := errors.Join(p.authority(), p.ingressSecrets()); err != nil {
		return nil, err
	}
	if p.ca.Remade() {
		p.notes = append(p.notes, "a CA was made: whoever connects trusts "+p.ca.File())
	}
	if err := p.ports(ctx, o); err != nil {
		return nil, err
	}
	p.socket = shorter(p.path("internal.sock"))
	return p, nil
}

// node is one of the nodes, and where it listens.
type node struct{ id, peer, devices, metrics string }

// ports finds where everything listens: at ports that follow from the two that were asked for.
func (p *place) ports(ctx context.Context, o Options) error {
	after := func(port, n int) int {
		if port == 0 {
			return 0
		}
		return port + n
	}
	p.nodes = []node{{id: "n1"}, {id: "n2"}}
	asked, err := p.keptPort(originFile, after(o.Port, 10))
	if err != nil {
		return err
	}
	if p.origin.listener, err = p.port(ctx, "the devices' origin", asked); err != nil {
		return err
	}
	if asked, err = p.keptPort(shelfFile, after(o.Port, 11)); err != nil {
		return err
	}
	if p.shelf.listener, err = p.port(ctx, "the registry", asked); err != nil {
		return err
	}
	var taken []io.Closer // each until all are found, so that none is found twice
	defer func() {
		for _, l := range taken {
			_ = l.Close()
		}
	}()
	for _, want := range []struct {
		what  string
		port  int
		found *string
	}{
		{"the API", o.Port, &p.api}, {"enrolment", after(o.Port, 1), &p.enroll}, {"the ingress", after(o.Port, 2), &p.ingressAt},
		{"n1 for its peers", after(o.Port, 3), &p.nodes[0].peer}, {"n2 for its peers", after(o.Port, 4), &p.nodes[1].peer},
		{"n1 for devices", after(o.Port, 5), &p.nodes[0].devices}, {"n2 for devices", after(o.Port, 6), &p.nodes[1].devices},
		{"metrics", o.MetricsPort, &p.metrics}, {"the debug page of n1", after(o.MetricsPort, -2), &p.nodes[0].metrics},
		{"the debug page of n2", after(o.MetricsPort, -1), &p.nodes[1].metrics},
	} {
		l, err := p.port(ctx, want.what, want.port)
		if err != nil {
			return err
		}
		taken, *want.found = append(taken, l), l.Addr().String()
	}
	p.origin.linger = originLinger
	p.origin.to = []string{p.nodes[0].devices, p.nodes[1].devices}
	return nil
}

func (p *place) close() {
	for _, l := range []net.Listener{p.origin.listener, p.shelf.listener} {
		if l != nil {
			_ = l.Close()
		}
	}
	_ = p.lock.Close()
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// url is where the API is, by a name that the certificate has.
func (p *place) url() string { return named(p.api) }

// shorter says a path from where the process is, if that is shorter: the path of a socket may not be long.
func shorter(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(here, path)
	if err != nil || len(relative) >= len(path) {
		return path
	}
	return relative
}

// port finds a port on loopback: the one asked for, or another where that is taken.
func (p *place) port(ctx context.Context, what string, asked int) (net.Listener, error) {
	var open net.ListenConfig
	l, err := open.Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(asked))
	if err != nil {
		if l, err = open.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		p.notes = append(p.notes, fmt.Sprintf("port %d is taken, so that %s is at %s", asked, what, l.Addr()))
	}
	return l, nil
}

type ingressFile struct {
	Secrets []ingressSecret `json:"secrets"`
	Retired []string        `json:"retired"`
}

type ingressSecret struct {
	ID  string `json:"id"`
	Key string `json:"key"`
}

// ingressSecrets makes a secret for the hop to the internal listener, once.
func (p *place) ingressSecrets() error {
	path := p.path("ingress-secrets.json")
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // documented never to fail: it ends the process instead
	text, err := json.Marshal(ingressFile{
		Secrets: []ingressSecret{{ID: "dev", Key: base64.StdEncoding.EncodeToString(key)}}, Retired: []string{},
	}, json.FormatNilSliceAsNull(false))
	if err != nil {
		return err
	}
	return secretfile.Write(path, text)
}

// configuration is that of a server in this place. Settings that the place does not decide come from the environment.
func (p *place) configuration(environ []string) (*config.Loaded, error) {
	own := map[string]string{
		"ENV": config.Development, "DATABASE_URL": "sqlite:" + p.path("control.db"), "KMS_URL": "file:" + p.path("keys"),
		"TRUST_DOMAIN": trustDomain, "PUBLIC_URL": p.url(), "LISTEN": p.api, "METRICS_LISTEN": p.metrics,
		"TLS_CERT_FILE": p.certFile, "TLS_KEY_FILE": p.keyFile, "INTERNAL_LISTEN": "unix:" + p.socket,
		"INGRESS_SECRETS_FILE": p.path("ingress-secrets.json"),
		"ENROLL_LISTEN":        p.enroll, "BACKUP_URL": "", "BOOTSTRAP_TOKEN_FILE": "", "CONFIG": "",
	}
	return config.Load(config.Sources{Environ: overlay(environ, "BERTH_", own)}, config.ForServing)
}
