package sqliteengine_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/placement"
	"berth/ports/engine"
)

// appendUntilKilled appends to two tenants, and says what was acknowledged, a line each.
func appendUntilKilled(dir string) {
	d, err := sqliteengine.Open(context.Background(), sqliteengine.Options{Dir: dir})
	if err != nil {
		panic(err)
	}
	run := fmt.Sprint(time.Now().UnixNano())
	var mu sync.Mutex
	for _, tenant := range []string{"a", "b"} {
		e, err := d.Open(context.Background(), tenant)
		if err != nil {
			panic(err)
		}
		for hand := range 8 {
			go func() {
				answered := make(chan engine.Appended, 1)
				for i := 0; ; i++ {
					id := fmt.Sprintf("%s-%d-%d", run, hand, i)
					e.Append(write(id), func(a engine.Appended, err error) {
						if err != nil {
							panic(err)
						}
						answered <- a
					})
					a := <-answered
					mu.Lock()
					fmt.Fprintf(os.Stdout, "%s %d %s\n", tenant, a.Seq, id)
					mu.Unlock()
				}
			}()
		}
	}
	select {}
}

func write(id string) engine.Write {
	return engine.Write{
		Generation: 1, Route: "main", Principal: "dev_1", ID: id, At: time.Unix(1_900_000_000, 0),
		Body: append(append([]byte(`"`), bytes.Repeat([]byte("x"), len(id)*7)...), '"'),
	}
}

type acknowledged struct {
	tenant string
	seq    int64
	id     string
}

// Whenever the process is killed, every message that it acknowledged is there, once and at its sequence, and no route
// has a gap.
func TestKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	for _, tenant := range []string{"a", "b"} {
		present(t, d, tenant)
	}
	closes(t, d)
	var all []acknowledged
	for range 20 {
		all = append(all, killed(t, dir, 1+rand.IntN(400))...)
		d := open(t, dir)
		for _, tenant := range []string{"a", "b"} {
			holds(t, d, tenant, all)
		}
		closes(t, d)
	}
	if len(all) < 20 {
		t.Fatalf("only %d messages were acknowledged", len(all))
	}
}

// killed runs a child until it acknowledged so many messages, kills it, and returns everything that it said.
func killed(t *testing.T, dir string, after int) (out []acknowledged) {
	t.Helper()
	c := child(t, "append", dir)
	said, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(said)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break // what is behind the last end of line may be half of an acknowledgement
		}
		var a acknowledged
		if _, bad := fmt.Sscanf(line, "%s %d %s\n", &a.tenant, &a.seq, &a.id); bad != nil || err != nil {
			t.Fatalf("%q: %v %v", line, bad, err)
		}
		if out = append(out, a); len(out) == after {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Wait(); err == nil || len(out) < after {
		t.Fatalf("the child ends with %v after %d", err, len(out))
	}
	return out
}

func holds(t *testing.T, d *sqliteengine.Disk, tenant string, all []acknowledged) {
	t.Helper()
	e, err := d.Open(t.Context(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	messages, err := e.Read(t.Context(), engine.Range{Route: "main", UpTo: math.MaxInt64, Bytes: math.MaxInt})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, m := range messages {
		if m.Seq != int64(i)+1 || seen[m.ID] || !bytes.Equal(m.Body, write(m.ID).Body) {
			t.Fatalf("message %d of %s is %d, %s", i+1, tenant, m.Seq, m.ID)
		}
		seen[m.ID] = true
	}
	for _, a := range all {
		if a.tenant == tenant && (a.seq > int64(len(messages)) || messages[a.seq-1].ID != a.id) {
			t.Fatalf("%s was acknowledged as %d of %s, and is not there: there are %d", a.id, a.seq, tenant, len(messages))
		}
	}
	if u, err := e.Usage(t.Context()); err != nil || u.Messages != int64(len(messages)) {
		t.Fatalf("usage is %+v %v of %d messages", u, err, len(messages))
	}
	if len(messages) > 0 {
		last := messages[len(messages)-1]
		if a, err := appendNow(e, write(last.ID)); err != nil || !a.Before || a.Seq != last.Seq {
			t.Fatalf("the last message again is answered with %+v %v", a, err)
		}
	}
}

// appendNow appends a message and waits for the answer.
func appendNow(e engine.Engine, w engine.Write) (engine.Appended, error) {
	type result struct {
		engine.Appended
		error
	}
	answered := make(chan result, 1)
	e.Append(w, func(a engine.Appended, err error) { answered <- result{a, err} })
	r := <-answered
	return r.Appended, r.error
}

// present makes a copy of a tenant, stamped 1.
func present(tb testing.TB, d *sqliteengine.Disk, tenant string) {
	tb.Helper()
	if _, err := d.Change(tb.Context(), tenant, func(k *engine.Kept) error {
		k.Copy = placement.Copy{Present: true, Stamp: 1}
		return nil
	}); err != nil {
		tb.Fatal(err)
	}
}

func closes(tb testing.TB, d *sqliteengine.Disk) {
	tb.Helper()
	if err := d.Close(); err != nil {
		tb.Fatal(err)
	}
}
