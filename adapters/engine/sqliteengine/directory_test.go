package sqliteengine_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
)

// Wherever a process ends while it makes, removes or replaces a copy, the next one finds the copy that was, the one that
// was to be, or none, never half of one; nothing is left lying around; and the change can be made again.
func TestEndsBetweenSteps(t *testing.T) {
	t.Parallel()
	made := placement.Copy{Present: true, Stamp: 1}
	for name, c := range map[string]struct{ from, to placement.Copy }{
		"make":    {to: made},
		"remove":  {from: made},
		"replace": {from: made, to: placement.Copy{Present: true, Stamp: 4, Fenced: true, FenceVersion: 9, Migration: "mig_1"}},
	} {
		for _, step := range sqliteengine.Steps() {
			t.Run(name+" "+step, func(t *testing.T) {
				t.Parallel()
				endsAt(t, step, c.from, c.to)
			})
		}
	}
}

func endsAt(t *testing.T, step string, from, to placement.Copy) {
	t.Helper()
	dir := t.TempDir()
	d := open(t, dir)
	sets := func(d *sqliteengine.Disk, c placement.Copy) error {
		_, err := d.Change(t.Context(), "a", func(k *engine.Kept) error { k.Copy, k.Sequence = c, 0; return nil })
		return err
	}
	if err := sets(d, from); err != nil {
		t.Fatal(err)
	}
	if from.Present {
		e, err := d.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := appendNow(e, write("m1")); err != nil {
			t.Fatal(err)
		}
	}
	d.KillAt(step, 1)
	reached := sets(d, to) != nil
	d = open(t, dir)
	k := told(t, d, "a")
	if k.Copy != from && k.Copy != to && k.Copy != (placement.Copy{}) || !reached && k.Copy != to {
		t.Fatalf("there is %+v", k)
	}
	if all := kept(t, d); len(all) != 1 || all[0].Copy != k.Copy {
		t.Fatalf("node.db says %+v, the copy %+v", all, k)
	}
	switch e, err := d.Open(t.Context(), "a"); {
	case !k.Copy.Present && fault.SlugOf(err) != "copy_missing":
		t.Fatalf("opening what is not there: %v", err)
	case k.Copy.Present && err != nil:
		t.Fatal(err)
	case k.Copy.Present:
		if head, err := e.Head(t.Context(), "main"); err != nil || (head == 1) != (k.Copy == from) {
			t.Fatalf("%+v ends at %d %v", k.Copy, head, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "tenants")); err != nil || len(entries) > 1 ||
		len(entries) == 1 && entries[0].Name() != "a" {
		t.Fatalf("left are %v %v", entries, err)
	}
	if err := sets(d, to); err != nil || told(t, d, "a").Copy != to {
		t.Fatalf("the change again leaves %+v %v", told(t, d, "a"), err)
	}
}

// told is what a change of nothing tells of a tenant.
func told(t *testing.T, d *sqliteengine.Disk, tenant string) engine.Kept {
	t.Helper()
	k, err := d.Change(t.Context(), tenant, func(*engine.Kept) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func kept(t *testing.T, d *sqliteengine.Disk) (out []engine.Kept) {
	t.Helper()
	if err := d.All(t.Context(), func(k engine.Kept) error { out = append(out, k); return nil }); err != nil {
		t.Fatal(err)
	}
	return out
}

// What is garbled, lost or another's is damaged for its tenant alone: the others are opened, changed and written to.
func TestDamageIsOneTenants(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(tenants string) error{
		"garbled":            func(at string) error { return overwrite(filepath.Join(at, "a/engine.db"), 0) },
		"garbled inside":     func(at string) error { return overwrite(filepath.Join(at, "a/engine.db"), 4096) },
		"empty":              func(at string) error { return os.Truncate(filepath.Join(at, "a/engine.db"), 0) },
		"cut":                func(at string) error { return os.Truncate(filepath.Join(at, "a/engine.db"), 8192) },
		"without engine.db":  func(at string) error { return os.Remove(filepath.Join(at, "a/engine.db")) },
		"without attachment": func(at string) error { return os.RemoveAll(filepath.Join(at, "a/attachments")) },
		"lost":               func(at string) error { return os.RemoveAll(filepath.Join(at, "a")) },
		"another's": func(at string) error {
			return errors.Join(os.RemoveAll(filepath.Join(at, "a")), os.CopyFS(filepath.Join(at, "a"), os.DirFS(filepath.Join(at, "b"))))
		},
		"no database": executingIn("DROP TABLE copy"),
		"a later one": executingIn("PRAGMA user_version = 99"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			d := open(t, dir)
			for _, tenant := range []string{"a", "b", "c"} {
				present(t, d, tenant)
			}
			closes(t, d)
			if err := harm(filepath.Join(dir, "tenants")); err != nil {
				t.Fatal(err)
			}
			d = open(t, dir)
			if _, err := d.Open(t.Context(), "a"); fault.SlugOf(err) != "engine_damaged" || fault.KindOf(err) != fault.Internal {
				t.Errorf("opening it: %v", err)
			}
			if name != "without attachment" { // of which no change needs to know
				if _, err := d.Change(t.Context(), "a", func(*engine.Kept) error { return nil }); fault.SlugOf(err) != "engine_damaged" {
					t.Errorf("changing it: %v", err)
				}
			}
			for _, tenant := range []string{"b", "c"} {
				e, err := d.Open(t.Context(), tenant)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := appendNow(e, write("m1")); err != nil {
					t.Error(err)
				}
			}
			if all := kept(t, d); len(all) != 3 {
				t.Errorf("kept are %+v", all)
			}
		})
	}
}

func overwrite(path string, at int64) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strings.Repeat("garbage ", 4096)), at)
	return errors.Join(err, f.Close())
}

func executingIn(statement string) func(tenants string) error {
	return func(at string) error { return executing(statement)(filepath.Join(at, "a/engine.db")) }
}

// What a process left that ended between a file's name and its commit is nobody's, and goes; so do uploads that nobody
// went on with, and no others.
func TestLeftoverFilesGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	present(t, d, "a")
	old, young := filepath.Join(dir, "tenants/a/uploads/old"), filepath.Join(dir, "tenants/a/uploads/young")
	orphan := filepath.Join(dir, "tenants/a/attachments", strings.Repeat("0", 64))
	for _, path := range []string{old, young, orphan} {
		if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	e, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{old: false, young: true, orphan: false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := e.Stat(t.Context(), [32]byte{}); fault.SlugOf(err) != "attachment_missing" {
		t.Errorf("what is nobody's: %v", err)
	}
}

// An attachment that lost its content is damaged, and no other of the tenant is.
func TestAttachmentsThatAreLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	present(t, d, "a")
	e, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string][32]byte{}
	for _, content := range []string{"whole", "cut", "removed"} {
		digest := sha256.Sum256([]byte(content))
		digests[content] = digest
		size := int64(len(content))
		part := engine.Part{Generation: 1, Principal: "dev_1", Digest: digest, Length: size, Size: size}
		if whole, err := e.Upload(t.Context(), part, strings.NewReader(content)); !whole || err != nil {
			t.Fatal(whole, err)
		}
	}
	at := func(content string) string {
		return filepath.Join(dir, "tenants/a/attachments", fmt.Sprintf("%x", digests[content]))
	}
	if err := errors.Join(os.Truncate(at("cut"), 1), os.Remove(at("removed"))); err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{"whole": "", "cut": "attachment_damaged", "removed": "attachment_damaged"} {
		f, err := e.Content(t.Context(), digests[content])
		if want == "" && err == nil {
			err = f.Close()
		}
		if err == nil != (want == "") || err != nil && fault.SlugOf(err) != want {
			t.Errorf("%s: %v", content, err)
		}
	}
}

// What comes to an Engine while its copy is on the way out is not acknowledged.
func TestNoWriteIntoWhatGoes(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	for _, to := range []placement.Copy{{}, {Present: true, Stamp: 1, Migration: "mig_1"}} {
		present(t, d, "a")
		e, err := d.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error, 1)
		if _, err := d.Change(t.Context(), "a", func(k *engine.Kept) error {
			e.Append(write("m1"), func(_ engine.Appended, err error) { answered <- err })
			k.Copy = to
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-answered; fault.SlugOf(err) != "engine_closed" {
			t.Errorf("the write ends with %v", err)
		}
	}
}

// Everything is readable to the node's own user alone.
func TestFilesAreTheNodes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	present(t, d, "a")
	e, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := appendNow(e, write("m1")); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(filepath.Join(dir, "tenants"), func(path string, entry os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// No id leads out of the directory.
func TestIDsAreNames(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	for _, id := range []string{"..", ".", "", "../a", "a/b", "A", ".new-a", "a\x00"} {
		_, changed := d.Change(t.Context(), id, func(k *engine.Kept) error { k.Copy.Present = true; return nil })
		_, opened := d.Open(t.Context(), id)
		if fault.SlugOf(changed) != "engine_failed" || fault.SlugOf(opened) != "engine_failed" {
			t.Errorf("%q: %v, %v", id, changed, opened)
		}
	}
}

// A disk of before copies had directories goes on: its copies, of which none had any data, have theirs then.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	if _, err := d.StorageID(t.Context(), func() string { return "disk_1" }); err != nil {
		t.Fatal(err)
	}
	present(t, d, "a")
	if err := d.Saw(t.Context(), []engine.Seen{{Tenant: "b", Generation: 1, Version: 3}}); err != nil {
		t.Fatal(err)
	}
	closes(t, d)
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "tenants")), executing("PRAGMA user_version = 1")(filepath.Join(dir, "node.db"))); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		d = open(t, dir)
		if k := told(t, d, "a"); k.Copy != (placement.Copy{Present: true, Stamp: 1}) {
			t.Fatalf("kept is %+v", k)
		}
		e, err := d.Open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := appendNow(e, write("m1")); err != nil {
			t.Fatal(err)
		}
		closes(t, d)
	}
	if err := os.RemoveAll(filepath.Join(dir, "tenants/a")); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, dir).Open(t.Context(), "a"); fault.SlugOf(err) != "engine_damaged" {
		t.Fatalf("what is lost later is made again: %v", err)
	}
}

// A write transaction that another program holds open delays a fence, and no write gets past it.
func TestFenceWaitsForATransaction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	present(t, d, "a")
	e, err := d.Open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, "tenants/a/engine.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	held, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.ExecContext(t.Context(), "BEGIN IMMEDIATE; UPDATE copy SET sequence = sequence + 1"); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	e.Append(write("m1"), func(_ engine.Appended, err error) { answered <- err })
	fenced := make(chan engine.Kept, 1)
	go func() {
		k, err := d.Change(context.Background(), "a", func(k *engine.Kept) error { k.Copy.Fenced = true; return nil })
		if err != nil {
			t.Error(err)
		}
		fenced <- k
	}()
	select {
	case <-fenced:
		t.Error("the fence stands while the transaction is open")
	case <-time.After(50 * time.Millisecond):
	}
	if _, err := held.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	_ = held.Close()
	k, wrote := <-fenced, <-answered
	u, err := e.Usage(t.Context())
	if err != nil || u.Sequence != k.Sequence || (wrote == nil) != (u.Messages == 1) {
		t.Fatalf("behind the fence at %d there is %+v %v; the write ended with %v", k.Sequence, u, err, wrote)
	}
	if k.Sequence == 0 {
		t.Error("the transaction that was open is not counted")
	}
}
