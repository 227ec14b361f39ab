package relayd_test

import (
	"os"
	"path/filepath"
	"testing"

	"berth/cmd/internal/relayd"
	"berth/domain/fault"
)

func openDisk(tb testing.TB, dir string) (*relayd.Disk, func(), error) {
	tb.Helper()
	return relayd.OpenDisk(relayd.Config{DataDir: dir})
}

// Two processes never have one directory, and the second has it once the first let go.
func TestDirectoryIsOfOneProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	first, release, err := openDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := openDisk(t, dir); fault.SlugOf(err) != "data_dir_locked" {
		t.Fatalf("the second: %v", err)
	}
	release()
	second, release, err := openDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if first.Place == "" || first.Place != second.Place {
		t.Errorf("the directory is %q and then %q", first.Place, second.Place)
	}
}

// A lock that can not be made is not one that another process holds: who is told to stop that finds none.
func TestLockThatCanNotBeMade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "lock"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openDisk(t, dir); fault.SlugOf(err) != "data_dir_unusable" {
		t.Errorf("it is %v", err)
	}
}

// A copy of a directory is another place, and so is one that took its path.
func TestCopiesAreOtherPlaces(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir, copied := filepath.Join(root, "data"), filepath.Join(root, "copy")
	first, release, err := openDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	second, release, err := openDisk(t, copied)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if first.Place == second.Place {
		t.Error("a copy is in the same place")
	}
	if err := os.Rename(dir, filepath.Join(root, "away")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(copied, dir); err != nil {
		t.Fatal(err)
	}
	third, release, err := openDisk(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
	if third.Place == first.Place {
		t.Error("what took the place counts as it")
	}
}

// Nothing is opened in a directory that others may look into.
func TestOpenDirectoriesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openDisk(t, dir); fault.SlugOf(err) != "data_dir_unusable" {
		t.Fatalf("opened: %v", err)
	}
}
