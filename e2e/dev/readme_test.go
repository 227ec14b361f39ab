// Package dev runs what the README tells a new user to run.
package dev

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth/e2e/harness"
)

var walk = regexp.MustCompile("(?s)<!-- A test runs these lines. -->\n```sh\n(.*?)```")

// The README's lines do what it says of them: they move the tenant, install an app for a customer, pair devices, which
// exchange messages and an attachment, and revoke a phone; Ctrl-C then stops berthd well, and a second start finds the tenant where it was moved to.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	script := "set -eu\n"
	for _, lines := range walk.FindAllSubmatch(readme, -1) {
		script += string(lines[1])
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Dir(harness.Binary(t)), filepath.Join(dir, "bin")); err != nil {
		t.Fatal(err)
	}
	stop := start(t, dir)
	out := run(t, dir, script)
	stop()
	for _, want := range []string{
		`"state":"done"`, `"node":"n2","generation":2`, `"revoked_handles":1`, `"status":"active","revision":3`, `"whole":true`,
		`"versions":["1.1.0","1.0.0"],"state":"entitled"`, `"action":"install","version":"1.0.0","state":"accepted","revision":2`,
		`"diff":[{"app":"shop","what":"installed","after":"1.0.0"}]`, `"slug":"dependents_remain"`,
		`"seq":1,`, `"body":{"text":"hello, phone"}}`, `"body":{"text":"hello, desktop"}}`, "the phone is out: exit code 4", `"seq":3}`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the walk did not print %s:\n%s", want, out)
		}
	}
	stop = start(t, dir)
	if out := run(t, dir, `curl -K .berth/curl "$(sed -n 's/.*"api": "\(.*\)".*/\1/p' .berth/dev.json)/api/v1/tenants/demo"`); !strings.Contains(out, `"node":"n2","generation":2`) {
		t.Errorf("after a restart the tenant is %s", out)
	}
	stop()
}

func start(t *testing.T, dir string) (stop func()) {
	t.Helper()
	cmd := exec.Command(harness.Binary(t), "dev")
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, stdout, &stderr)
	return func() {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("berthd dev ended with %v:\n%s", err, &stderr)
		}
	}
}

func run(t *testing.T, dir, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v (the README needs bash, sed and curl):\n%s", err, out)
	}
	return string(out)
}
