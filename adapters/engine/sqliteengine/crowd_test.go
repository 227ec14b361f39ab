package sqliteengine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
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

// An attachment of which the content is gone, or some of it, is damaged, and nothing else is: the Engine goes on.
func TestDamageIsOneAttachments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	present(t, d, "a")
	e, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for content, harm := range map[string]func(string) error{
		"gone": os.Remove, "cut short": func(path string) error { return os.Truncate(path, 3) },
	} {
		digest := sha256.Sum256([]byte(content))
		part := engine.Part{Generation: 1, Principal: "dev_1", Digest: digest, Length: int64(len(content)), Size: int64(len(content))}
		if whole, err := e.Upload(t.Context(), part, bytes.NewReader([]byte(content))); err != nil || !whole {
			t.Fatalf("%v %v", whole, err)
		}
		if err := harm(filepath.Join(dir, "tenants/a/attachments", fmt.Sprintf("%x", digest))); err != nil {
			t.Fatal(err)
		}
		_, err := e.Content(t.Context(), digest)
		if fault.SlugOf(err) != "attachment_damaged" || fault.KindOf(err) != fault.Internal || engine.Broken(err) {
			t.Errorf("what is %s: %v", content, err)
		}
	}
	if !engine.Broken(engine.Damaged("a thing", nil)) || !engine.Broken(engine.Failed(nil)) || engine.Broken(os.ErrClosed) || engine.Broken(nil) {
		t.Error("what breaks an Engine is told apart wrongly")
	}
	if _, err := appendNow(e, write("m1")); err != nil {
		t.Error(err)
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
