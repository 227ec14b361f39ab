package dev

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"berth/e2e/harness"
)

// On SQLite, too, no secret stands in the database, in its write-ahead log, in what a node keeps of its tenants or in a
// log: the files are looked through byte by byte while everything runs, and after it was stopped.
func TestNoSecretInSQLite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(harness.Binary(t), "dev", "--port=0", "--metrics-port=0")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "BERTH_LOG_LEVEL=debug")
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
	state := filepath.Join(dir, ".berth")
	secrets := gather(t, state)
	databases := func() {
		t.Helper()
		for _, pattern := range []string{"control.db*", "relays/*/node.db*", "trust-bundle.pem"} {
			files, err := filepath.Glob(filepath.Join(state, pattern))
			if err != nil || len(files) == 0 {
				t.Fatalf("there is no %s (%v)", pattern, err)
			}
			for _, path := range files {
				secrets.InFile(t, path)
			}
		}
	}
	databases()
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("berthd dev ended with %v:\n%s", err, &stderr)
	}
	databases()
	secrets.In(t, "the log", stderr.Bytes())
	if !strings.Contains(stderr.String(), "n2 | ") || !strings.Contains(stderr.String(), "ingress | ") {
		t.Error("the log is not that of all programs")
	}
}

// gather collects every secret in a state directory.
func gather(t *testing.T, state string) *harness.Secrets {
	t.Helper()
	secrets := harness.NewSecrets()
	var told struct {
		Token string `json:"operator_token"`
	}
	var ingress struct{ Secrets []struct{ Key []byte } }
	for name, into := range map[string]any{"dev.json": &told, "ingress-secrets.json": &ingress} {
		text, err := os.ReadFile(filepath.Join(state, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			t.Fatal(err)
		}
	}
	secrets.AddText("the operator's token", told.Token)
	secrets.Add("the ingress secret", ingress.Secrets[0].Key)
	keys := 0
	err := filepath.WalkDir(state, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.HasSuffix(path, ".join-token") {
			secrets.AddText("a join token", string(text))
		}
		keys += secrets.AddKeys("the key in "+filepath.Base(path), text)
		return err
	})
	const least = 6 // those of CA and server, of both nodes, for tokens and for node certificates
	if err != nil || keys < least || !secrets.Has("a join token") {
		t.Fatalf("%d keys are found (%v)", keys, err)
	}
	return secrets
}
