package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serveEnv is the environment of a whole configuration in a directory, on free ports.
func serveEnv(tb testing.TB, dir, database string) []string {
	tb.Helper()
	writeSecrets(tb, dir, "one")
	return []string{
		"BERTH_DATABASE_URL=sqlite:" + database, "BERTH_KMS_URL=file:keys", "BERTH_TRUST_DOMAIN=berth.example",
		"BERTH_LISTEN=127.0.0.1:0", "BERTH_METRICS_LISTEN=127.0.0.1:0", "BERTH_INTERNAL_LISTEN=unix:internal.sock",
		"BERTH_INGRESS_SECRETS_FILE=ingress.json", "BERTH_LOG_FORMAT=json",
	}
}

func writeSecrets(tb testing.TB, dir, id string) {
	tb.Helper()
	text := `{"secrets":[{"id":"` + id + `","key":"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}]}`
	if err := os.WriteFile(filepath.Join(dir, "ingress.json"), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// fetch gets a page; its status, Retry-After and text.
func fetch(tb testing.TB, url string) (status int, retryAfter, text string) {
	tb.Helper()
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, url, nil)
	if err != nil {
		tb.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer bt_tok_aaaaaaaaaaaaaaaaaaaaaaaaaa") // of no operator
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Retry-After"), string(data)
}

// eventually waits for what another process does by itself.
func (p *process) eventually(what string, ok func() bool) {
	p.tb.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-p.ended:
			p.tb.Fatalf("waiting until %s: berthd ended: %v\n%s", what, p.err, p.errors.String())
		case <-late:
			p.tb.Fatalf("it is not so that %s\n%s", what, p.errors.String())
		}
	}
}

// serve says where it listens and when it is ready, reads secrets anew on SIGHUP and by itself, stops well, leaves no
// socket behind, and starts again on its database. What it logs is JSON and holds no secret.
func TestServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := serveEnv(t, dir, "data/control.db")
	p := start(t, dir, env, "serve", "--migrate")
	if status, _, text := fetch(t, p.listening("api")+"/readyz"); status != 200 {
		t.Fatalf("ready, and /readyz answers %d %s", status, text)
	}
	_, _, metrics := fetch(t, p.listening("metrics")+"/metrics")
	for _, name := range []string{`berth_build_info{`, `berth_hint_subscriptions `, `berth_sweep_leader 1`, `berth_http_requests_total{audience="api",operation="readyz",status="200"} `} {
		if !strings.Contains(metrics, name) {
			t.Errorf("the metrics lack %s", name)
		}
	}
	if at := p.listening("internal"); at != "unix:internal.sock" {
		t.Errorf("the internal listener is at %s", at)
	}
	if info, err := os.Stat(filepath.Join(dir, "internal.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v %v", info, err)
	}
	p.rereads(dir)
	p.stop()
	if _, err := os.Stat(filepath.Join(dir, "internal.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket is left behind: %v", err)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(p.errors.String()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("logged %s", line)
		}
	}
	if strings.Contains(p.errors.String(), "MDEyMzQ1") || strings.Contains(p.errors.String(), "0123456789abcdef") {
		t.Error("the log holds a secret")
	}
	writeSecrets(t, dir, "four")
	start(t, dir, env, "serve").stop()
}

// rereads changes the secrets for SIGHUP, and again for berthd to find by itself.
func (p *process) rereads(dir string) {
	p.tb.Helper()
	writeSecrets(p.tb, dir, "two")
	if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		p.tb.Fatal(err)
	}
	p.eventually("a hang-up has secrets read anew", func() bool { return strings.Contains(p.errors.String(), `"read":"ingress secrets"`) })
	writeSecrets(p.tb, dir, "three")
	p.eventually("a change has secrets read anew", func() bool {
		return strings.Contains(p.errors.String(), "ingress secrets were read anew")
	})
	if err := os.WriteFile(filepath.Join(dir, "ingress.json"), []byte("broken"), 0o600); err != nil {
		p.tb.Fatal(err)
	}
	p.eventually("a change that can not be used is told", func() bool { return strings.Contains(p.errors.String(), `"duty":"files"`) })
}

// A database that is away at the start is waited for: requests are 503 with Retry-After until it is there, with its
// schema brought up to date if that was asked for, and no restart is needed.
func TestServeWithoutDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "data") // a file where the folder of the database would be
	if err := os.WriteFile(inTheWay, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, serveEnv(t, dir, "data/control.db"), "serve", "--migrate")
	api := p.listening("api")
	for _, path := range []string{"/readyz", "/api/v1/regions"} {
		if status, retryAfter, text := fetch(t, api+path); status != 503 || retryAfter == "" {
			t.Errorf("%s without a database: %d, Retry-After %q, %s", path, status, retryAfter, text)
		}
	}
	if status, _, _ := fetch(t, api+"/healthz"); status != 200 {
		t.Errorf("/healthz without a database: %d", status)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	p.eventually("the database is found", func() bool {
		status, _, _ := fetch(t, api+"/readyz")
		return status == 200
	})
	p.eventually("keys are made", func() bool {
		_, _, text := fetch(t, api+"/.well-known/jwks.json")
		return strings.Contains(text, `"kid"`)
	})
	p.stop()
}

// Two processes do not share a socket, and the one that is there goes on.
func TestServeTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := serveEnv(t, dir, "control.db")
	first := start(t, dir, env, "serve", "--migrate")
	second := launch(t, dir, env, "serve")
	<-second.ended
	if second.err == nil || !strings.Contains(second.errors.String(), "another process holds internal.sock.lock") {
		t.Errorf("the second ended with %v, saying %s", second.err, second.errors.String())
	}
	if status, _, _ := fetch(t, first.listening("api")+"/readyz"); status != 200 {
		t.Errorf("the first suffered: /readyz answers %d", status)
	}
	first.stop()
}
