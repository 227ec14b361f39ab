package dev

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	"berth/adapters/contract"
	"berth/cmd/internal/secretfile"
)

// ingress is the program that ends the nodes' TLS.
func (r *running) ingress() *child {
	return r.child("ingress", "berth-ingress", func(context.Context) ([]string, error) {
		return r.environ("BERTH_INGRESS_", map[string]string{
			"LISTEN": r.ingressAt, "CERT_FILE": r.certFile, "KEY_FILE": r.keyFile, "UPSTREAM": "unix:" + r.socket,
			"SECRETS_FILE": r.path("ingress-secrets.json"), "TRUST_BUNDLE_FILE": r.path("trust-bundle.pem"),
			"TRUST_DOMAIN": trustDomain, "METRICS_LISTEN": "off", "TRUST_BUNDLE_REFRESH": "1s", "ACCESS_LOG": "refused",
		}), nil
	})
}

// relay is the program of one node.
func (r *running) relay(s *seeds, n node) *child {
	return r.child(n.id, "berth-relay", func(ctx context.Context) ([]string, error) {
		if err := r.letJoin(ctx, s, n); err != nil {
			return nil, err
		}
		return r.environ("BERTH_RELAY_", map[string]string{
			"NODE": n.id, "REGION": region, "TRUST_DOMAIN": trustDomain, "DATA_DIR": r.data(n), "JOIN_TOKEN_FILE": r.joinToken(n),
			"CONTROL_URL": named(r.ingressAt), "ENROLL_URL": named(r.enroll), "CA_FILE": r.ca.File(),
			"PEER_LISTEN": n.peer, "ADVERTISE": n.peer, "METRICS_LISTEN": n.metrics, "STEP_PAUSE": r.options.Pace.String(),
			"LISTEN": n.devices, "TLS_CERT_FILE": r.certFile, "TLS_KEY_FILE": r.keyFile,
		}), nil
	})
}

func (r *running) child(name, program string, environ func(context.Context) ([]string, error)) *child {
	return &child{name: name, path: r.programs[program], environ: environ, out: r.options.Err, log: r.log}
}

// environ is a child's environment: what it logs is what this process logs.
func (r *running) environ(prefix string, own map[string]string) []string {
	own["CONFIG"], own["LOG_LEVEL"], own["LOG_FORMAT"] = "", r.process.Config.LogLevel, r.process.Config.LogFormat
	return overlay(r.options.Environ, prefix, own)
}

func (p *place) data(n node) string { return filepath.Join(p.path("relays"), n.id) }

func (p *place) joinToken(n node) string { return p.data(n) + ".join-token" }

// letJoin gives a node that has no certificate in force a join token.
func (r *running) letJoin(ctx context.Context, s *seeds, n node) error {
	if certified(filepath.Join(r.data(n), "identity", "current.pem"), r.process.Ground.Clock.Now()) {
		return nil
	}
	made, err := s.api.JoinToken(ctx, n.id, contract.NewJoinToken{})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.joinToken(n)), 0o700); err != nil {
		return err
	}
	return secretfile.Write(r.joinToken(n), []byte(made.Token+"\n"))
}

// letJoinAgain gives nodes that slept past their certificates join tokens, as on a computer that was shut for days.
func (r *running) letJoinAgain(ctx context.Context, s *seeds) {
	const look = time.Minute
	for {
		timer := r.process.Ground.Clock.NewTimer(look)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return
		}
		for _, n := range r.nodes {
			if err := r.letJoin(ctx, s, n); err != nil && ctx.Err() == nil {
				r.log.Warn("a node gets no join token", "node", n.id, "error", err)
			}
		}
	}
}

// certified says whether a file has a certificate that is in force.
func certified(path string, now time.Time) bool {
	rest, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for block := (*pem.Block)(nil); ; {
		if block, rest = pem.Decode(rest); block == nil {
			return false
		}
		if block.Type == "CERTIFICATE" {
			c, err := x509.ParseCertificate(block.Bytes)
			return err == nil && now.Before(c.NotAfter)
		}
	}
}

// settle waits until both nodes serve and the tenant is on one of them.
func (r *running) settle(ctx context.Context, s *seeds) error {
	err := r.until(ctx, "the nodes did not come up in time", func() (bool, error) {
		for _, n := range r.nodes {
			now, err := s.api.Node(ctx, n.id)
			// The lease of its last run may still be alive, but not the generation.
			if err != nil || now.Lease.State != "live" || now.Heartbeat.Generation <= s.before[n.id] {
				return false, err
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	_, err = s.api.CreateTenant(ctx, contract.NewTenant{ID: tenant, HomeRegion: region})
	if err := unlessThere(err, "tenant_exists"); err != nil {
		return err
	}
	return r.until(ctx, "the tenant was not placed in time", func() (bool, error) {
		t, err := s.api.Tenant(ctx, tenant)
		if err != nil || t.Placement == nil {
			return false, err
		}
		s.holder = t.Placement.Node
		return true, nil
	})
}

// until looks again and again whether something is so.
func (r *running) until(ctx context.Context, late string, ok func() (bool, error)) error {
	const look = 50 * time.Millisecond
	for {
		done, err := ok()
		if ctx.Err() != nil {
			return errors.New(late)
		}
		if done || err != nil {
			return err
		}
		timer := r.process.Ground.Clock.NewTimer(look)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// named is the URL of an address on loopback, by a name that the certificate has.
func named(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "https://" + address
	}
	return "https://localhost:" + port
}
