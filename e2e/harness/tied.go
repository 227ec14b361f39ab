package harness

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// FreeAddresses are so many at which nobody listens, each a different one.
func FreeAddresses(t testing.TB, n int) []string {
	t.Helper()
	var all []string
	for len(all) < n {
		one, other := freeAddresses(t)
		for _, a := range []string{one, other} {
			if len(all) < n && !slices.Contains(all, a) {
				all = append(all, a)
			}
		}
	}
	return all
}

// Tied makes a command that starts others in the background end with all of them where its context ends, and at the end of
// the test, however the command itself ended.
func Tied(t testing.TB, cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	t.Cleanup(func() {
		if cmd.Process != nil {
			_ = cmd.Cancel() // there may be none left
		}
	})
	cmd.WaitDelay = 10 * time.Second
}
