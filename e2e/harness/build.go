package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var built = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // one build for all tests of a process
	dir, err := os.MkdirTemp("", "berth-e2e-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "berthd")
	cmd := exec.Command("go", "build", "-race", "-o", bin, "berth/cmd/berthd") //nolint:noctx // the go command ends by itself
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building berthd: %w\n%s", err, out)
	}
	return bin, nil
})

// Binary is the path of berthd, built with the race detector on.
func Binary(t testing.TB) string {
	t.Helper()
	bin, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}
