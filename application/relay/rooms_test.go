package relay_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crypto/sha256"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/authority"
	"berth/ports/engine"
)

// A node is told nothing of tenants that nobody uses: with 5,000 assigned to it and 50 in use it asks about those 50, and about
// none again once nobody used it for a while. The gate denies what is not open (A4).
func TestOnlyOpenTenantsAreAskedAbout(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		const many, open = 5000, 50
		r.empty = true
		for i := range many - 1 {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
		}
		r.start()
		r.within(5*time.Second, "the tenants are known", func() bool { return len(r.node.Tenants()) == many })
		pass(20 * time.Second)
		if _, err := r.node.Gate().Write("m0"); fault.SlugOf(err) != "engine_closed" || r.called("Snapshot") > 0 {
			t.Fatalf("nobody uses it: %v, %d snapshots", err, r.called("Snapshot"))
		}
		if err := r.node.Gate().Read("m0"); fault.SlugOf(err) != "engine_closed" {
			t.Fatalf("nobody uses it: %v", err)
		}
		phones := make([]*phone, open)
		for i := range phones {
			phones[i] = phoneOf(r.control.Pair(fmt.Sprintf("m%d", i), authorization.Owner))
			if err := phones[i].enter(r.t.Context(), r.node); err != nil {
				t.Fatal(err)
			}
		}
		pass(2 * time.Second)
		r.asked.Store(0)
		pass(2 * time.Minute)
		if most := r.asked.Load(); most != open {
			t.Fatalf("%d tenants are asked about at a time", most)
		}
		if n := r.called("Snapshot"); n > 5*open {
			t.Fatalf("%d snapshots in two minutes", n)
		}
		for _, p := range phones {
			p.session.Leave()
		}
		pass(4 * time.Minute)
		if s := r.node.Status(); s.Engines != open || s.Rooms != open {
			t.Fatalf("after four minutes %d Engines and %d rooms are open", s.Engines, s.Rooms)
		}
		pass(62 * time.Second)
		if s := r.node.Status(); s.Engines != 0 || s.Rooms != 0 || s.Guarded != 0 {
			t.Fatalf("after five minutes %d Engines and %d rooms are open", s.Engines, s.Rooms)
		}
		snapshots := r.called("Snapshot")
		r.asked.Store(0)
		pass(2 * time.Minute)
		if r.asked.Load() != 0 || r.called("Snapshot") != snapshots {
			t.Fatal("it asks about tenants that nobody uses")
		}
		if err := phones[0].enter(r.t.Context(), r.node); err != nil || r.called("Snapshot") != snapshots+1 {
			t.Fatalf("it opens again: %v, by %d snapshots", err, r.called("Snapshot")-snapshots)
		}
	})
}

// As many Engines are open as may be. The one that nobody uses, and nobody used for longest, gives way; where all are in use who
// comes is told when to come back.
func TestOpenEnginesAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.MaxEngines = 3 }
		var phones []*phone
		for i := range 5 {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
			phones = append(phones, phoneOf(r.control.Pair(fmt.Sprintf("m%d", i), authorization.Owner)))
		}
		r.start()
		enter := func(i int) error {
			phones[i] = phoneOf(phones[i].Paired)
			return phones[i].enter(r.t.Context(), r.node)
		}
		r.within(5*time.Second, "it is let in", func() bool { return enter(0) == nil })
		if err := errors.Join(enter(1), enter(2)); err != nil {
			t.Fatal(err)
		}
		if f, ok := fault.As(enter(3)); !ok || f.Slug != "engines_exhausted" || f.RetryAfter < time.Second {
			t.Fatalf("all are in use: %v", f)
		}
		for _, i := range []int{1, 0, 2} {
			phones[i].session.Leave()
			pass(time.Second)
		}
		if err := errors.Join(enter(3), enter(0)); err != nil { // 0 is open still, as 1 was left first
			t.Fatal(err)
		}
		opened := map[string]bool{}
		for _, s := range r.node.Tenants() {
			opened[s.Tenant] = s.Engine
		}
		if !opened["m0"] || opened["m1"] || !opened["m2"] || !opened["m3"] || r.node.Status().Engines != 3 {
			t.Fatalf("open are %v", opened)
		}
		if err := enter(4); err != nil { // instead of m2
			t.Fatal(err)
		}
		if err := enter(1); fault.SlugOf(err) != "engines_exhausted" {
			t.Fatalf("all are in use: %v", err)
		}
	})
}

// A device has so many connections and no more, as has the node; one that leaves makes room.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.ConnectionsPerPrincipal, s.MaxConnections = 2, 3 }
		r.start()
		one := r.connected(authorization.Member)
		two, three := phoneOf(one.Paired), phoneOf(one.Paired)
		if err := two.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		if err := three.enter(r.t.Context(), r.node); fault.SlugOf(err) != "too_many_connections" {
			t.Fatalf("the third of a device: %v", err)
		}
		other := r.connected(authorization.Member)
		if err := r.pair(authorization.Member).enter(r.t.Context(), r.node); fault.SlugOf(err) != "too_many_connections" {
			t.Fatalf("the fourth of the node: %v", err)
		}
		two.session.Leave()
		two.session.Leave()
		if err := three.enter(r.t.Context(), r.node); err != nil {
			t.Fatalf("in the place of one that left: %v", err)
		}
		if n := r.node.Status().Sessions; n != 3 || other.end() != "" {
			t.Fatalf("%d sessions", n)
		}
	})
}

// A node that stops tells every device, and each when to come back: 5,000 of them over ten seconds. What is in flight is
// acknowledged or not, and what is acknowledged is there.
func TestShutdown(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		const tenants, each = 10, 500
		r.tune = func(s *relay.Settings) { s.ConnectionsPerPrincipal = each }
		for i := range tenants {
			r.control.AddTenant(fmt.Sprintf("m%d", i), "n0")
		}
		r.up()
		var phones []*phone
		for i := range tenants {
			first := phoneOf(r.control.Pair(fmt.Sprintf("m%d", i), authorization.Owner))
			for range each {
				p := phoneOf(first.Paired)
				if err := p.enter(r.t.Context(), r.node); err != nil {
					t.Fatal(err)
				}
				phones = append(phones, p)
			}
		}
		acknowledged := make(chan string, tenants*each)
		for i, p := range phones {
			id := fmt.Sprintf("m%d", i)
			p.session.Publish(relay.Publish{Handle: p.Handles["main"], ID: id, Body: []byte("1")}, func(_ int64, err error) {
				if err == nil {
					acknowledged <- p.Tenant + "/" + id
				}
			})
		}
		node := r.node
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		var bins [10]int
		for i, p := range phones {
			if p.end() != "shutdown" {
				t.Fatalf("device %d ended by %q", i, p.end())
			}
			if p.retry() >= 11*time.Second {
				t.Fatalf("device %d comes back after %v", i, p.retry())
			}
			bins[min(9, int(p.retry()/time.Second))]++
		}
		for second, n := range bins {
			if n < each/2 || n > 2*each {
				t.Errorf("%d devices come back in second %d", n, second)
			}
		}
		if s := node.Status(); s.Sessions != 0 || s.Engines != 0 {
			t.Errorf("%d sessions and %d Engines are left", s.Sessions, s.Engines)
		}
		if err := phones[0].enter(r.t.Context(), node); fault.SlugOf(err) != "stopping" {
			t.Errorf("into a stopped node: %v", err)
		}
		if _, err := phones[0].publishes("main", "late", "1"); err == nil {
			t.Error("a stopped node takes a message")
		}
		r.has(acknowledged)
	})
}

// has looks for what was acknowledged on the disk.
func (r *rig) has(acknowledged chan string) {
	r.t.Helper()
	close(acknowledged)
	there := map[string]map[string]bool{}
	for one := range acknowledged {
		tenant, id, _ := strings.Cut(one, "/")
		if there[tenant] == nil {
			there[tenant] = map[string]bool{}
			e, err := r.disk.Open(r.t.Context(), tenant)
			if err != nil {
				r.t.Fatal(err)
			}
			all, err := e.Read(r.t.Context(), engine.Range{Route: "main", UpTo: 1 << 40, Bytes: 1 << 30})
			if err != nil {
				r.t.Fatal(err)
			}
			for _, m := range all {
				there[tenant][m.ID] = true
			}
			_ = e.Close()
		}
		if !there[tenant][id] {
			r.t.Fatalf("%s was acknowledged and is not there", one)
		}
	}
}

// After a restart nothing is served, and nothing opened, by what is on the disk: not before a snapshot came that was asked for
// since (P8).
func TestStartOpensNothingBeforeASnapshot(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		r.empty = true
		r.spoiled(only("Snapshot", true))
		r.start()
		r.within(5*time.Second, "it has a lease", func() bool { return r.node.Status().Ready() })
		for range 5 {
			if err := p.enter(r.t.Context(), r.node); fault.KindOf(err) != fault.Unavailable {
				t.Fatalf("it is let in: %v", err)
			}
			if slug := r.write(); slug == "" || r.node.Status().Engines != 0 {
				t.Fatalf("it may be written, or is open: %q", slug)
			}
		}
		r.spoiled(nil)
		r.within(10*time.Second, "it is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
	})
}

// An answer from before a tenant was closed tells nothing once it is open again (A3).
func TestOldAnswersAfterReopening(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.EngineIdle = time.Second }
		r.start()
		p := r.connected(authorization.Owner)
		member := r.connected(authorization.Member)
		before, err := r.peerOf("n0").Snapshot(r.t.Context(), "t0", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.control.RevokePrincipal("t0", member.Principal); err != nil {
			t.Fatal(err)
		}
		r.within(time.Second, "it is heard of", func() bool { return member.end() == "revoked" })
		p.session.Leave()
		r.within(5*time.Second, "the tenant is closed", func() bool { return r.node.Status().Rooms == 0 })
		r.answer.Store(&before)
		if err := member.enter(r.t.Context(), r.node); err == nil {
			t.Fatal("a revoked device is let in by an old answer")
		}
		r.answer.Store((*authority.Snapshot)(nil))
		r.within(10*time.Second, "the owner is let in", func() bool { return p.enter(r.t.Context(), r.node) == nil })
	})
}

// A node that is being emptied sends the devices away that were there, over a time, and none twice.
func TestDraining(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.empty = true
		r.tune = func(s *relay.Settings) { s.ConnectionsPerPrincipal = 300 }
		r.start()
		first := r.connected(authorization.Owner)
		phones := []*phone{first}
		for range 299 {
			p := phoneOf(first.Paired)
			if err := p.enter(r.t.Context(), r.node); err != nil {
				t.Fatal(err)
			}
			phones = append(phones, p)
		}
		ended := func() (n int) {
			for _, p := range phones {
				if end := p.end(); end == "draining" {
					n++
				} else if end != "" {
					t.Fatalf("ended by %q", end)
				}
			}
			return n
		}
		r.drains.Store(true)
		r.within(6*time.Second, "it begins", func() bool { return ended() > 0 })
		came := phoneOf(r.visitor)
		if err := came.enter(r.t.Context(), r.node); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		if n := ended(); n < 60 || n > 160 {
			t.Fatalf("%d of 300 are sent away within ten seconds of thirty", n)
		}
		pass(21 * time.Second)
		if n := ended(); n != 300 || came.end() != "" {
			t.Fatalf("%d of 300 are sent away, and who came since by %q", n, came.end())
		}
	})
}

// Attachments are there for who may use the tenant, and as long as that is so.
func TestFiles(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		content := strings.Repeat("abcdefgh", 1000)
		digest := sha256.Sum256([]byte(content))
		files, err := r.node.Files(r.t.Context(), p.device)
		if err != nil {
			t.Fatal(err)
		}
		part := func(from, to int) (bool, error) {
			return files.Upload(r.t.Context(), relay.Upload{Digest: digest, Offset: int64(from), Length: int64(to - from), Size: int64(len(content))},
				strings.NewReader(content[from:to]))
		}
		if _, err := files.Stat(r.t.Context(), digest); fault.SlugOf(err) != "attachment_missing" {
			t.Fatal(err)
		}
		if whole, err := part(0, 3000); err != nil || whole {
			t.Fatalf("a part is whole: %v %v", whole, err)
		}
		if n, err := files.Uploaded(r.t.Context(), digest); err != nil || n != 3000 {
			t.Fatalf("%d are uploaded: %v", n, err)
		}
		letGo := r.hold() // it is whole, and durable, and not acknowledged yet
		result := make(chan error, 1)
		go func() { _, err := part(3000, len(content)); result <- err }()
		synctest.Wait()
		r.control.Suspend("t0")
		pass(time.Second)
		letGo()
		if err := <-result; fault.SlugOf(err) != "tenant_suspended" {
			t.Fatalf("it is said to be whole: %v", err)
		}
		if _, err := files.Stat(r.t.Context(), digest); fault.SlugOf(err) != "tenant_suspended" {
			t.Fatal(err)
		}
		files.Close()
		files.Close()
		r.control.Resume("t0")
		r.within(10*time.Second, "it is open again", func() bool { files, err = r.node.Files(r.t.Context(), p.device); return err == nil })
		if size, err := files.Stat(r.t.Context(), digest); err != nil || size != int64(len(content)) {
			t.Fatalf("%d bytes: %v", size, err)
		}
		in, err := files.Content(r.t.Context(), digest)
		if err != nil {
			t.Fatal(err)
		}
		some := make([]byte, 100)
		if _, err := io.ReadFull(in, some); err != nil || string(some) != content[:100] {
			t.Fatal(err)
		}
		if _, err := r.control.RevokePrincipal("t0", p.Principal); err != nil {
			t.Fatal(err)
		}
		r.within(6*time.Second, "who is revoked reads no further", func() bool {
			_, err := in.Read(some[:1])
			return fault.SlugOf(err) == "principal_revoked"
		})
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		for name, err := range map[string]error{
			"stat": second(files.Stat(r.t.Context(), digest)), "uploaded": second(files.Uploaded(r.t.Context(), digest)),
			"content": second(files.Content(r.t.Context(), digest)), "upload": second(part(0, 1)), "files": second(r.node.Files(r.t.Context(), p.device)),
		} {
			if fault.SlugOf(err) != "principal_revoked" {
				t.Errorf("%s: %v", name, err)
			}
		}
		files.Close()
	})
}

func second[T any](_ T, err error) error { return err }
