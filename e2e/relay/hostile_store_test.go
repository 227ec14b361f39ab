package relay

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// said is what a process printed so far.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// beside is a second process with everything that this world's has, but for its listeners and what env says.
func (w *world) beside(t *testing.T, env ...string) (*exec.Cmd, *said) {
	t.Helper()
	cmd := exec.Command(harness.Binary(t), "serve", "--migrate")
	cmd.Env = append(os.Environ(),
		"BERTH_DATABASE_URL=sqlite:"+filepath.Join(w.Dir, "control.db"), "BERTH_KMS_URL=file:"+filepath.Join(w.Dir, "keys"),
		"BERTH_LISTEN=127.0.0.1:0", "BERTH_METRICS_LISTEN=off", "BERTH_INTERNAL_LISTEN=unix:"+filepath.Join(w.Dir, "second.sock"),
		"BERTH_TRUST_DOMAIN=berth.test", "BERTH_BOOTSTRAP_TOKEN_FILE="+filepath.Join(w.Dir, "bootstrap"),
		"BERTH_INGRESS_SECRETS_FILE="+filepath.Join(w.Dir, "ingress.json"), "BERTH_SWEEP_INTERVAL=200ms")
	cmd.Env = append(cmd.Env, env...)
	out := &said{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

// refusesToStart runs a second process that is expected to end by itself, and returns what it said.
func (w *world) refusesToStart(t *testing.T, env ...string) string {
	t.Helper()
	cmd, out := w.beside(t, env...)
	ended := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer ended.Stop()
	if err := cmd.Run(); err == nil || strings.Contains(out.String(), "\nready\n") {
		t.Fatalf("it started, with %v:\n%s", env, out)
	}
	return out.String()
}

// Two processes on one file are one control plane: an assertion that one of them took is no good for the other, what both
// are asked to make at once is made once, and both sweep (I4, §10).
func TestTwoProcessesOnOneFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cmd, out := w.beside(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the second process ended with %v:\n%s", err, out)
		}
	})
	w.Eventually("the second process is ready", func() bool { return strings.Contains(out.String(), "\nready\n") })
	api := regexp.MustCompile(`listening api (\S+)`).FindStringSubmatch(out.String())[1]
	n := w.nodes["a"]
	body := `{"generation":1,"sequence":5}`
	value := w.seal(w.Secret, n.Payload("POST", beatPath, []byte(body)))
	if a := w.Internal("POST", beatPath, []byte(body), contract.HeaderAssertion, value); a.Status != 200 {
		t.Fatalf("the first process: %d %s", a.Status, a.Body)
	}
	wire := dial(t, "unix", filepath.Join(w.Dir, "second.sock"))
	wire.say(body, "POST /internal/v1"+beatPath+" HTTP/1.1", "Host: "+harness.InternalHost, "Content-Type: application/json",
		contract.HeaderAssertion+": "+value, length(body))
	if a := wire.hear(); a.Slug() != "assertion_replayed" {
		t.Fatalf("the second process: %d %s", a.Status, a.Body)
	}
	counts := atOnce(48, func(i int) string {
		base := []string{w.API, api}[i%2]
		return status(t.Context(), base, w.Token, fmt.Sprintf(`{"id":"both%d","home_region":"eu"}`, i/8))
	})
	if counts["201"] != 6 || counts["409"] != 42 {
		t.Fatalf("48 calls to both for 6 tenants: %v", counts)
	}
	var verdict contract.AuditVerdict
	if w.Operator("GET", "/api/v1/audit/verify", nil, 200, &verdict); !verdict.Whole {
		t.Fatalf("two writers of one audit log made it %+v", verdict)
	}
}

func status(ctx context.Context, base, token, tenant string) string {
	req, err := http.NewRequestWithContext(ctx, "POST", base+"/api/v1/tenants", strings.NewReader(tenant))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	_ = resp.Body.Close()
	return fmt.Sprint(resp.StatusCode)
}

// What is secret and readable for others, or no secret at all, ends the start; what was refused is named, never shown (I7).
func TestSecretsThatEndTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(w.Dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	keys := func(name string, change func(dir string)) string {
		dir := filepath.Join(w.Dir, name)
		if err := os.CopyFS(dir, os.DirFS(filepath.Join(w.Dir, "keys"))); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		change(dir)
		return "BERTH_KMS_URL=file:" + dir
	}
	each := func(dir string, do func(path string)) {
		paths, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no keys in %s: %v", dir, err)
		}
		for _, path := range paths {
			do(path)
		}
	}
	for name, env := range map[string]string{
		"open ingress secrets":    "BERTH_INGRESS_SECRETS_FILE=" + file("i1", `{"secrets":[]}`, 0o644),
		"garbage ingress secrets": "BERTH_INGRESS_SECRETS_FILE=" + file("i2", "hunter2\x00", 0o600),
		"no ingress secrets":      "BERTH_INGRESS_SECRETS_FILE=" + filepath.Join(w.Dir, "nowhere"),
		"an open bootstrap token": "BERTH_BOOTSTRAP_TOKEN_FILE=" + file("b1", harness.Bootstrap, 0o640),
		"a short bootstrap token": "BERTH_BOOTSTRAP_TOKEN_FILE=" + file("b2", "hunter2", 0o600),
		"open keys": keys("k1", func(dir string) {
			each(dir, func(path string) { _ = os.Chmod(path, 0o644) })
		}),
		"garbage keys": keys("k2", func(dir string) {
			each(dir, func(path string) { _ = os.WriteFile(path, []byte("hunter2"), 0o600); _ = os.Chmod(path, 0o600) })
		}),
	} {
		if out := w.refusesToStart(t, env); strings.Contains(out, "hunter2") {
			t.Errorf("%s: it repeats a secret:\n%s", name, out)
		}
	}
}
