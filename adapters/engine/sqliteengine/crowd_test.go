package sqliteengine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
)

// What waits is bounded for all tenants together, too: there are hundreds of them. What was committed makes room again.
func TestBusyTogether(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	const each = 10
	body := int64(len(write("m0-0").Body) + sqliteengine.Around)
	d.Crowd(2*each*body - 1)
	var hands sync.WaitGroup
	var engines []engine.Engine
	var release []func()
	refused := map[string]int{}
	var mu sync.Mutex
	for _, tenant := range []string{"a", "b"} {
		present(t, d, tenant)
		e, err := d.Open(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		engines = append(engines, e)
	}
	for round := range 3 {
		for i, e := range engines {
			release = append(release, sqliteengine.Hold(e))
			sqliteengine.Stuff(e, write("first")) // one commit is under way
			for n := range each {
				hands.Add(1)
				e.Append(write(fmt.Sprint("m", round, "-", n)), func(_ engine.Appended, err error) {
					defer hands.Done()
					if err != nil {
						mu.Lock()
						defer mu.Unlock()
						refused[fmt.Sprint(i, fault.SlugOf(err))]++
					}
				})
			}
		}
		for _, r := range release {
			r()
		}
		release = nil
		hands.Wait()
		if len(refused) != 1 || refused["1engine_busy"] != round+1 {
			t.Fatalf("in round %d refused are %v", round, refused)
		}
	}
}

// A node that has no file descriptor left can not open an Engine now, and takes none for damaged by that. It is a child that
// has none left.
func TestNoDescriptorIsNoDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	for _, tenant := range []string{"a", "b"} {
		present(t, d, tenant)
	}
	closes(t, d)
	if said, err := child(t, "descriptors", dir).Output(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

func withoutDescriptors(dir string) int {
	if err := runOut(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func runOut(dir string) error {
	ctx := context.Background()
	d, err := sqliteengine.Open(ctx, sqliteengine.Options{Dir: dir})
	if err != nil {
		return err
	}
	var all []*os.File
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 100, Max: 100}); err != nil {
		return err
	}
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, syscall.EMFILE) {
			break
		}
		if err != nil {
			return err
		}
		all = append(all, f)
	}
	for range 4 { // with each descriptor that is free the opening gets a step further
		_, opened := d.Open(ctx, "a")
		_, changed := d.Change(ctx, "b", func(*engine.Kept) error { return nil })
		for _, err := range []error{opened, changed} {
			if err != nil && fault.SlugOf(err) != "engine_unavailable" {
				return fmt.Errorf("with %d free it is %w", 100-len(all), err)
			}
		}
		if err := all[0].Close(); err != nil {
			return err
		}
		all = all[1:]
	}
	for _, f := range all {
		_ = f.Close()
	}
	if _, err := d.Change(ctx, "b", func(*engine.Kept) error { return nil }); err != nil {
		return err
	}
	return d.Close()
}

// A copy of which node.db does not know yet, and which can not be read as the node starts, keeps no other from being there. It
// is told as one that there is, and Change says why nobody knows what it is, until it can be read.
func TestUnreadableAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	for _, tenant := range []string{"a", "b"} {
		present(t, d, tenant)
	}
	closes(t, d)
	// As after a crash between a copy's name and what node.db says of it.
	if err := executing("DELETE FROM tenants")(filepath.Join(dir, "node.db")); err != nil {
		t.Fatal(err)
	}
	db, index := filepath.Join(dir, "tenants/a/engine.db"), filepath.Join(dir, "tenants/a/engine.db-wal")
	if err := os.Mkdir(index, 0o700); err != nil { // SQLite can not write beside it
		t.Fatal(err)
	}
	d = open(t, dir)
	if all := kept(t, d); len(all) != 2 || !all[0].Copy.Present || all[0].Copy.Stamp != 0 || all[1].Copy.Stamp != 1 {
		t.Fatalf("kept are %+v", all)
	}
	if _, err := d.Change(t.Context(), "a", func(*engine.Kept) error { return nil }); fault.SlugOf(err) != "engine_unavailable" {
		t.Fatalf("it is %v", err)
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	if k := told(t, d, "a"); k.Copy != (placement.Copy{Present: true, Stamp: 1}) {
		t.Fatalf("kept is %+v", k)
	}
	if _, err := os.Stat(db); err != nil {
		t.Fatal(err)
	}
}
