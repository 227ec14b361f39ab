package sqliteengine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"berth/domain/ident"
	"berth/ports/engine"
)

const (
	beingMade    = ".new-"
	beingRemoved = ".gone-"

	engineFile     = "engine.db"
	attachmentsDir = "attachments"
	uploadsDir     = "uploads"
)

// home is a tenant's directory. An id can not lead out of the disk's.
func (d *Disk) home(tenant string) (string, error) {
	if err := ident.Check("tenant", tenant); err != nil {
		return "", engine.Failed(err)
	}
	return filepath.Join(d.dir, tenant), nil
}

// exists says whether there is a copy, readable or not.
func exists(home string) (bool, error) {
	_, err := os.Stat(home)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// create makes the copy that k describes, empty, where there is none: under another name, and then all at once.
func (d *Disk) create(k engine.Kept) (err error) {
	home, err := d.home(k.Tenant)
	if err != nil {
		return err
	}
	made, err := os.MkdirTemp(d.dir, beingMade+k.Tenant+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil && !errors.Is(err, errKilled) {
			err = errors.Join(err, os.RemoveAll(made))
		}
	}()
	if err := d.step("made"); err != nil {
		return err
	}
	for _, name := range []string{attachmentsDir, uploadsDir} {
		if err := os.Mkdir(filepath.Join(made, name), 0o700); err != nil {
			return err
		}
	}
	if err := create(filepath.Join(made, engineFile), k.Tenant, k.Copy, k.Sequence); err != nil {
		return err
	}
	if err := d.step("filled"); err != nil {
		return err
	}
	if err := syncDir(made); err != nil {
		return err
	}
	if err := os.Rename(made, home); err != nil {
		return err
	}
	if err := d.step("named"); err != nil {
		return err
	}
	return syncDir(d.dir)
}

// remove takes a copy away at once, durably, and then removes what is in it.
func (d *Disk) remove(tenant string) error {
	home, err := d.home(tenant)
	if err != nil {
		return err
	}
	gone, err := os.MkdirTemp(d.dir, beingRemoved+tenant+"-")
	if err != nil {
		return err
	}
	if err := os.Rename(home, filepath.Join(gone, "copy")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(gone))
	}
	if err := d.step("renamed away"); err != nil {
		return err
	}
	if err := syncDir(d.dir); err != nil {
		return err
	}
	if err := d.step("away"); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// sweep removes what is left of copies that were being made or removed, and names those that there are.
func (d *Disk) sweep() (present map[string]bool, err error) {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return nil, err
	}
	present = map[string]bool{}
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, beingMade), strings.HasPrefix(name, beingRemoved):
			if err := os.RemoveAll(filepath.Join(d.dir, name)); err != nil {
				return nil, err
			}
		case ident.Check("tenant", name) == nil:
			present[name] = true
		}
	}
	return present, nil
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// errKilled is what a test has a step end with, as if the process had been killed: nothing is tidied up.
var errKilled = errors.New("the process ended")
