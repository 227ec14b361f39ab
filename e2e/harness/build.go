package harness

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var (
	raced = sync.OnceValues(func() (string, error) { return build("-race") })
	plain = sync.OnceValues(func() (string, error) { return build() })
)

// build builds every binary and returns the directory that they are in, side by side as they are shipped.
func build(flags ...string) (string, error) {
	dir, err := Workshop()
	if err != nil {
		return "", err
	}
	args := append(append([]string{"build"}, flags...), "-o", dir+string(filepath.Separator))
	for _, name := range []string{"berthd", "berth-ingress", "berth-relay", "berthctl"} {
		args = append(args, "berth/cmd/"+name)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	return dir, nil
}

// Program is the path of one of Berth's binaries: with the race detector on for a test, as it is shipped for a benchmark.
func Program(t testing.TB, name string) string {
	t.Helper()
	made := raced
	if _, measured := t.(*testing.B); measured {
		made = plain
	}
	dir, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Shipped is the path of one of Berth's binaries as it is shipped, for a test that measures.
func Shipped(t testing.TB, name string) string {
	t.Helper()
	dir, err := plain()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// Binary is the path of berthd.
func Binary(t testing.TB) string { t.Helper(); return Program(t, "berthd") }
