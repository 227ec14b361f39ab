package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var (
	raced = sync.OnceValues(func() (string, error) { return build("-race") })
	plain = sync.OnceValues(func() (string, error) { return build() })
)

func build(flags ...string) (string, error) {
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "berthd")
	args := append(append([]string{"build"}, flags...), "-o", bin, "berth/cmd/berthd")
	cmd := exec.Command("go", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building berthd: %w\n%s", err, out)
	}
	return bin, nil
}

// Binary is the path of berthd: with the race detector on for a test, as it is shipped for a benchmark.
func Binary(t testing.TB) string {
	t.Helper()
	made := raced
	if _, measured := t.(*testing.B); measured {
		made = plain
	}
	bin, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
