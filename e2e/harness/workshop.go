package harness

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// held are the locks of this process's workshops, for as long as it lives.
var held struct {
	sync.Mutex
	locks []*os.File
}

const (
	workshopName = "berth-e2e-"
	lockName     = ".lock"
	unlocked     = time.Minute // how long one may have no lock yet
)

// Workshop makes a directory for what the tests of this process build, and removes those that processes before it left
// behind: they are a hundred megabytes each, and a test process has no end at which it could clear up.
func Workshop() (string, error) {
	sweepWorkshops(os.TempDir(), time.Now().Add(-unlocked))
	dir, err := os.MkdirTemp("", workshopName)
	if err != nil {
		return "", err
	}
	lock, err := os.Create(filepath.Join(dir, lockName))
	if err != nil {
		return "", err
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	held.Lock()
	defer held.Unlock()
	held.locks = append(held.locks, lock)
	return dir, nil
}

// sweepWorkshops removes every workshop made before an instant whose process is gone.
func sweepWorkshops(under string, before time.Time) {
	dirs, err := filepath.Glob(filepath.Join(under, workshopName+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() || info.ModTime().After(before) {
			continue
		}
		if lock, err := os.Open(filepath.Join(dir, lockName)); err == nil {
			taken := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
			_ = lock.Close()
			if taken {
				continue
			}
		}
		_ = os.RemoveAll(dir)
	}
}
