package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/cmd/internal/cli"
	"berth/cmd/internal/devca"
	"berth/cmd/internal/secretfile"
	"berth/domain/fault"
)

const patience = time.Minute

type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *text) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *text) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// process is berth-ingress as a child of the test.
type process struct {
	tb       testing.TB
	cmd      *exec.Cmd
	out, err text
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

func start(tb testing.TB, env ...string) *process {
	tb.Helper()
	p := &process{tb: tb, cmd: exec.Command("berth-ingress")}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = append(os.Environ(), env...), &p.out, &p.err
	must(tb, p.cmd.Start())
	tb.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	p.until(func() bool { return strings.Contains(p.out.String(), "ready\n") })
	return p
}

func (p *process) until(holds func() bool) {
	p.tb.Helper()
	late := time.After(patience)
	for !holds() {
		select {
		case <-late:
			p.tb.Fatalf("it never came about; it said:\n%s%s", p.out.String(), p.err.String())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (p *process) url(listener string) string {
	_, rest, _ := strings.Cut(p.out.String(), "listening "+listener+" ")
	url, _, _ := strings.Cut(rest, "\n")
	return url
}

// stop ends it as an operator would, and returns how it exited.
func (p *process) stop() error {
	p.tb.Helper()
	must(p.tb, p.cmd.Process.Signal(syscall.SIGTERM))
	return p.cmd.Wait()
}

// A process serves nodes over the socket of a control plane, from which it learns whom to believe; it keeps that for a
// start without the control plane, takes up files on SIGHUP, shows metrics and health, and stops well.
func TestServe(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "b") // short enough for a socket
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ca, err := devca.Open(dir, "berth.example", time.Now())
	must(t, err)
	_, cert, key, err := ca.Server("ingress")
	must(t, err)
	secrets := func(id string) {
		must(t, secretfile.Write(filepath.Join(dir, "secrets.json"), []byte(`{"secrets":[{"id":"`+id+`","key":"`+strings.Repeat("QUFB", 11)+`"}]}`)))
	}
	secrets("s1")
	roots, err := os.ReadFile(ca.File())
	must(t, err)
	back := serve(t, dir, string(roots))
	env := []string{
		"BERTH_INGRESS_LISTEN=127.0.0.1:0", "BERTH_INGRESS_METRICS_LISTEN=127.0.0.1:0", "BERTH_INGRESS_CERT_FILE=" + cert,
		"BERTH_INGRESS_KEY_FILE=" + key, "BERTH_INGRESS_TRUST_DOMAIN=berth.example", "BERTH_INGRESS_UPSTREAM=unix:" + dir + "/s",
		"BERTH_INGRESS_SECRETS_FILE=" + dir + "/secrets.json", "BERTH_INGRESS_TRUST_BUNDLE_FILE=" + dir + "/bundle.pem",
		"BERTH_INGRESS_ACCESS_LOG=all",
	}
	p := start(t, env...)
	node := func() error {
		c, err := ca.Node("n1", "spiffe://berth.example/relay/eu/n1")
		must(t, err)
		client, err := apiclient.New(apiclient.Options{
			Base: strings.Replace(p.url("ingress"), "127.0.0.1", "localhost", 1), CA: ca.Pool(),
			Certificate: func() (*tls.Certificate, error) { return c, nil },
		})
		must(t, err)
		defer client.Close()
		_, err = apiclient.NewNode(client, "n1").SigningKeys(t.Context())
		return err
	}
	must(t, node())
	if kept, err := os.ReadFile(dir + "/bundle.pem"); err != nil || string(kept) != string(roots) {
		t.Errorf("kept %q %v", kept, err)
	}
	for path, status := range map[string]int{"/healthz": 204, "/readyz": 204, "/metrics": 200} {
		resp, err := http.Get(p.url("metrics") + path)
		must(t, err)
		_ = resp.Body.Close()
		if resp.StatusCode != status {
			t.Errorf("%s answered %d", path, resp.StatusCode)
		}
	}
	secrets("s2")
	must(t, p.cmd.Process.Signal(syscall.SIGHUP))
	p.until(func() bool { return strings.Contains(p.err.String(), "read=secrets") })
	if err := p.stop(); err != nil {
		t.Errorf("it ended with %v: %s", err, p.err.String())
	}
	if strings.Contains(p.err.String()+p.out.String(), "QUFBQUFB") || !strings.Contains(p.err.String(), "path=/internal/v1/signing-keys status=200") {
		t.Errorf("it said %s", p.err.String())
	}
	back()
	p = start(t, env...) // without the control plane
	if err := node(); fault.SlugOf(err) != "upstream_unreachable" {
		t.Errorf("without the control plane: %v", err)
	}
	must(t, p.stop())
	must(t, os.Chmod(dir+"/secrets.json", 0o644))
	refused := exec.Command("berth-ingress", "serve")
	refused.Env = append(os.Environ(), env...)
	if code, ok := errors.AsType[*exec.ExitError](refused.Run()); !ok || code.ExitCode() != cli.Misused {
		t.Error("secrets that others may read are taken")
	}
}

// serve is a control plane that tells the trust bundle, and nodes no keys; the function returned ends it.
func serve(tb testing.TB, dir, roots string) func() {
	tb.Helper()
	l, err := net.Listen("unix", dir+"/s")
	must(tb, err)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.RequestURI == "/trust-bundle" {
			_ = json.NewEncoder(w).Encode(contract.TrustBundle{TrustDomain: "berth.example", PEM: roots})
			return
		}
		if len(r.Header.Values(contract.HeaderAssertion)) != 1 {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = w.Write([]byte(`{}`))
	})}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	end := sync.OnceFunc(func() { _ = s.Close(); <-done })
	tb.Cleanup(end)
	return end
}
