package relayd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"berth/adapters/engine/fileidentity"
	"berth/adapters/engine/sqliteengine"
	"berth/cmd/internal/listen"
	"berth/domain/fault"
	"berth/domain/stream"
)

// Disk is the data directory, which this process has for itself.
type Disk struct {
	Tenants  *sqliteengine.Disk // and their Engines
	Identity *fileidentity.Identity
	Place    string // names the directory as it is now, for relay.Ports
	lock     *os.File
}

// OpenDisk locks the directory and opens what is in it. The function returned lets go of it.
// Faults: Unavailable data_dir_locked, data_dir_unusable; those of what is in it.
func OpenDisk(c Config) (_ *Disk, release func(), err error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, nil, unusable(c.DataDir, err)
	}
	if err := private(c.DataDir); err != nil {
		return nil, nil, err
	}
	d := &Disk{}
	if d.Place, err = placeOf(c.DataDir); err != nil {
		return nil, nil, unusable(c.DataDir, err)
	}
	switch d.lock, err = listen.Lock(filepath.Join(c.DataDir, "lock")); {
	case err != nil && !errors.Is(err, listen.ErrHeld): // as on a disk that is full or can not be written
		return nil, nil, unusable(c.DataDir, err)
	case err != nil:
		return nil, nil, fault.New(fault.Unavailable, "data_dir_locked", "the data directory %s is not free", c.DataDir).
			Because(err).Curable("stop the other process, or name another directory for another node")
	}
	if d.Identity, err = fileidentity.Open(filepath.Join(c.DataDir, "identity")); err == nil {
		d.Tenants, err = sqliteengine.Open(context.Background(), sqliteengine.Options{
			Dir: c.DataDir, Limits: stream.Limits{Tenant: int64(c.TenantQuotaBytes), Attachment: int64(c.MaxAttachmentBytes)},
		})
	}
	if err != nil {
		return nil, nil, errors.Join(err, d.lock.Close())
	}
	return d, func() {
		_ = d.Tenants.Close()
		_ = d.lock.Close()
	}, nil
}

func private(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return unusable(dir, err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		return unusable(dir, fmt.Errorf("it is open to others (mode %04o), or no directory", info.Mode().Perm()))
	}
	return nil
}

func unusable(dir string, err error) error {
	return fault.New(fault.Unavailable, "data_dir_unusable", "the data directory %s can not be used", dir).Because(err).
		Curable("make it a directory that the node can write and that belongs to it alone: chmod 700")
}

// placeOf names a directory by what no copy of it has: the machine's present run, and what it is on its file system.
func placeOf(dir string) (string, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", errors.New("the system does not tell directories apart")
	}
	run, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return fmt.Sprintf("%s/%d/%d", strings.TrimSpace(string(run)), stat.Dev, stat.Ino), nil
}
