package sqliteengine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
)

// The tenant whose database can not grow is refused, by name, and goes on once it can; the others notice nothing.
func TestFullIsOneTenants(t *testing.T) {
	t.Parallel()
	d := open(t, t.TempDir())
	var all []engine.Engine
	for _, tenant := range []string{"a", "b"} {
		present(t, d, tenant)
		e, err := d.Open(t.Context(), tenant)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	a, b := all[0], all[1]
	if err := sqliteengine.Rebound(a, 40); err != nil {
		t.Fatal(err)
	}
	n := fills(t, a)
	u, err := a.Usage(t.Context())
	if err != nil || u.Messages != int64(n) {
		t.Fatalf("%d were acknowledged, usage is %+v %v", n, u, err)
	}
	if _, err := appendNow(b, write("m1")); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	if k, err := d.Change(t.Context(), "a", func(k *engine.Kept) error { k.Copy.Fenced = true; return nil }); err != nil || !k.Copy.Fenced {
		t.Errorf("fencing it: %+v %v", k, err)
	}
	if _, err := d.Change(t.Context(), "a", func(k *engine.Kept) error { k.Copy.Fenced = false; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := sqliteengine.Rebound(a, 1<<20); err != nil {
		t.Fatal(err)
	}
	goesOn(t, a, n)
}

// fills appends until it is refused for room, and says how many were acknowledged.
func fills(tb testing.TB, e engine.Engine) (n int) {
	tb.Helper()
	for ; n < 10_000; n++ {
		_, err := appendNow(e, large(n))
		if err == nil {
			continue
		}
		if fault.SlugOf(err) != "disk_full" || fault.KindOf(err) != fault.Exhausted {
			tb.Fatalf("after %d it is %v", n, err)
		}
		break
	}
	if n == 0 || n == 10_000 {
		tb.Fatalf("%d were acknowledged", n)
	}
	return n
}

func large(n int) engine.Write {
	w := write(fmt.Sprint("m", n))
	w.Body = append(append([]byte(`"`), bytes.Repeat([]byte("x"), 4000)...), '"')
	return w
}

// goesOn proves that n messages are there, and that the next one follows them.
func goesOn(tb testing.TB, e engine.Engine, n int) {
	tb.Helper()
	if a, err := appendNow(e, large(n)); err != nil || a.Seq != int64(n)+1 {
		tb.Fatalf("with room again it is %+v %v", a, err)
	}
	messages, err := e.Read(tb.Context(), engine.Range{Route: "main", UpTo: math.MaxInt64, Bytes: math.MaxInt})
	if err != nil || len(messages) != n+1 {
		tb.Fatalf("%d messages are there, %v", len(messages), err)
	}
	for i, m := range messages {
		if m.Seq != int64(i)+1 || m.ID != fmt.Sprint("m", i) {
			tb.Fatalf("message %d is %d, %s", i+1, m.Seq, m.ID)
		}
	}
}

// On a file system that is full, writes and uploads are refused by name, what is there is read, and all goes on by itself
// once there is room. The file system is a child's own.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	c := child(t, "full", t.TempDir())
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	if said, err := c.Output(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
}

func fillUp(dir string) int {
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		fmt.Println("mount:", err)
		return 1
	}
	if err := crowd(dir); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func crowd(dir string) (err error) {
	ctx := context.Background()
	d, err := sqliteengine.Open(ctx, sqliteengine.Options{Dir: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	if _, err := d.Change(ctx, "a", func(k *engine.Kept) error { k.Copy = placement.Copy{Present: true, Stamp: 1}; return nil }); err != nil {
		return err
	}
	e, err := d.Open(ctx, "a")
	if err != nil {
		return err
	}
	if _, err := appendNow(e, large(0)); err != nil {
		return err
	}
	ballast := filepath.Join(dir, "ballast")
	if err := fillWith(ballast); err != nil {
		return err
	}
	n := 1
	for ; ; n++ {
		_, err := appendNow(e, large(n))
		if fault.SlugOf(err) == "disk_full" {
			break
		}
		if err != nil || n > 1000 {
			return fmt.Errorf("append %d on a full disk: %w", n, err)
		}
	}
	content := bytes.Repeat([]byte("x"), 1<<20)
	part := engine.Part{Generation: 1, Principal: "dev_1", Digest: sha256.Sum256(content), Length: 1 << 20, Size: 1 << 20}
	if whole, err := e.Upload(ctx, part, bytes.NewReader(content)); whole || fault.SlugOf(err) != "disk_full" {
		return fmt.Errorf("upload on a full disk: %v %w", whole, err)
	}
	if _, err := d.Change(ctx, "b", func(k *engine.Kept) error { k.Copy = placement.Copy{Present: true, Stamp: 1}; return nil }); fault.SlugOf(err) != "engine_unavailable" {
		return fmt.Errorf("making a copy on a full disk: %w", err)
	}
	if got, err := e.Read(ctx, engine.Range{Route: "main", UpTo: 1000, Bytes: 1 << 30}); err != nil || len(got) != n {
		return fmt.Errorf("read on a full disk: %d of %d, %w", len(got), n, err)
	}
	if err := os.Remove(ballast); err != nil {
		return err
	}
	if a, err := appendNow(e, large(n)); err != nil || a.Seq != int64(n)+1 {
		return fmt.Errorf("append with room again: %+v %w", a, err)
	}
	part.Offset, err = e.Uploaded(ctx, "dev_1", part.Digest)
	if err != nil {
		return err
	}
	part.Length = part.Size - part.Offset
	if whole, err := e.Upload(ctx, part, bytes.NewReader(content[part.Offset:])); !whole || err != nil {
		return fmt.Errorf("upload with room again: %v %w", whole, err)
	}
	_, err = d.Change(ctx, "b", func(k *engine.Kept) error { k.Copy = placement.Copy{Present: true, Stamp: 1}; return nil })
	return err
}

// fillWith takes all the room there is.
func fillWith(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	for size := 1 << 16; size > 0; size /= 2 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			return err
		}
		err = nil
	}
	return f.Close()
}
