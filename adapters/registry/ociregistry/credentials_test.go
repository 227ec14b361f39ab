package ociregistry

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"berth/domain/delivery"
)

// A pipe in the place of a credentials file, which nobody writes to, holds nothing up: it is refused at once.
func TestCredentialsInAPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "login")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := credentials(delivery.Registry{Host: "registry.test", CredentialsRef: "file:" + pipe})
		answered <- err
	}()
	select {
	case err := <-answered:
		if err == nil {
			t.Error("a pipe is taken for a file")
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for somebody to write into the pipe")
	}
}
