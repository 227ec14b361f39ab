package harness

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// What test processes built is removed once they are gone, whether or not they came to lock it; what one works in stays, and
// so does what was made a moment ago and what is somebody else's.
func TestWorkshopsAreSwept(t *testing.T) {
	t.Parallel()
	under := t.TempDir()
	made := func(name string, locked, held bool) string {
		dir := filepath.Join(under, name)
		must(t, os.Mkdir(dir, 0o700))
		if locked {
			lock, err := os.Create(filepath.Join(dir, lockName))
			must(t, err)
			t.Cleanup(func() { _ = lock.Close() })
			if held {
				must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
			}
		}
		must(t, os.Chtimes(dir, time.Now(), time.Now().Add(-time.Hour)))
		return dir
	}
	gone := []string{made(workshopName+"1", true, false), made(workshopName+"2", false, false)}
	fresh := made(workshopName+"3", false, false)
	must(t, os.Chtimes(fresh, time.Now(), time.Now()))
	stays := []string{made(workshopName+"4", true, true), made("other", false, false), fresh}
	sweepWorkshops(under, time.Now().Add(-time.Minute))
	for _, dir := range gone {
		if _, err := os.Stat(dir); !os.IsNotExist(err) {
			t.Errorf("%s is left behind", dir)
		}
	}
	for _, dir := range stays {
		if _, err := os.Stat(dir); err != nil {
			t.Errorf("%s is gone", dir)
		}
	}
}
