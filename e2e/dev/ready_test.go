package dev

import (
	"bufio"
	"bytes"
	"io"
	"testing"
	"time"
)

// awaitReady reads what berthd prints until it says ready, and then on, so that it never waits for its reader.
func awaitReady(t *testing.T, out io.Reader, stderr *bytes.Buffer) {
	t.Helper()
	ready := make(chan bool, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if lines.Text() == "ready" {
				ready <- true
			}
		}
		close(ready)
	}()
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("berthd dev ended before it was ready:\n%s", stderr)
		}
	case <-time.After(time.Minute):
		t.Fatal("berthd dev is not ready after a minute")
	}
}
