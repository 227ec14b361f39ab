package relay_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
	"berth/domain/fault"
)

// A device whose upload breaks off hurts nobody: what breaks is its line, and not the tenant's Engine.
func TestBrokenUploadEndsNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		files, err := r.node.Files(r.t.Context(), p.device)
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		const content = "0123456789"
		u := relay.Upload{Digest: sha256.Sum256([]byte(content)), Length: 10, Size: 10}
		broken := io.MultiReader(strings.NewReader("0123"), iotest.ErrReader(io.ErrUnexpectedEOF))
		refusals := len(r.node.Refusals())
		if _, err := files.Upload(r.t.Context(), u, broken); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatal(err)
		}
		synctest.Wait()
		pass(time.Second)
		if n, err := files.Uploaded(r.t.Context(), u.Digest); err != nil || n != 4 {
			t.Fatalf("%d bytes are there: %v", n, err)
		}
		if _, err := p.publishes("main", "a", "1"); err != nil || p.end() != "" {
			t.Fatalf("it publishes: %v, and ended by %q", err, p.end())
		}
		if s := r.node.Tenants()[0]; s.Failed != nil || len(r.node.Refusals()) != refusals {
			t.Fatalf("it is said to have failed by %v, and to be refused %v", s.Failed, r.node.Refusals())
		}
	})
}

// Who has just seen that no Engine is open, and comes to open it when another did, is let in by that one.
func TestOpensOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Member)
		if err := r.node.OpenOnceMore("t0"); err != nil {
			t.Fatal(err)
		}
		if s := r.node.Status(); s.Engines != 1 || p.end() != "" || r.node.Tenants()[0].Failed != nil {
			t.Fatalf("%d Engines are open, ended by %q", s.Engines, p.end())
		}
	})
}

// However small messages are, whoever takes them and goes no further holds about as much as was asked for (R2).
func TestSmallMessagesCount(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p, q := r.connected(authorization.Member), r.connected(authorization.Member)
		const count, bytes = 900, 16 << 10
		for i := range count {
			if _, err := p.publishes("main", fmt.Sprint("m", i), "1"); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := q.session.Subscribe(r.t.Context(), q.Handles["main"], 0); err != nil {
			t.Fatal(err)
		}
		for round := 0; ; round++ {
			part, more, err := q.session.Take(r.t.Context(), bytes)
			if err != nil || len(part) == 0 || len(part) > bytes/100 {
				t.Fatalf("%d messages at once: %v", len(part), err)
			}
			if !more {
				if last := part[len(part)-1].Seq; last != count || round < 5 {
					t.Fatalf("the last is %d, in round %d", last, round)
				}
				return
			}
		}
	})
}

// A message that is not where it should be is not passed over in silence: the tenant's Engine is said to be damaged.
func TestNoMessageIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, count := range []int{1, 3} {
		bubble(t, func(r *rig) {
			r.up()
			p, q := r.connected(authorization.Member), r.connected(authorization.Member)
			for i := range count {
				if _, err := p.publishes("main", fmt.Sprint("m", i), "1"); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := q.session.Subscribe(r.t.Context(), q.Handles["main"], 0); err != nil {
				t.Fatal(err)
			}
			r.gaps.Store(true)
			if part, _, err := q.session.Take(r.t.Context(), 1<<16); fault.SlugOf(err) != "engine_damaged" {
				t.Fatalf("of %d it takes %+v: %v", count, part, err)
			}
			r.gaps.Store(false)
			r.within(time.Second, "its sessions end", func() bool { return q.end() == "unavailable" })
		})
	}
}

// A revocation that is committed is remembered, also where the owner who asked for it is gone by then (D4).
func TestRevocationsAreRememberedWithoutTheirOwner(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		owner, member := r.connected(authorization.Owner), r.connected(authorization.Member)
		ctx, gone := context.WithCancel(r.t.Context())
		leave := func() { gone() }
		r.buries.Store(&leave)
		revision, err := owner.session.Revoke(ctx, member.Principal)
		if err != nil || member.end() != "revoked" || ctx.Err() == nil {
			t.Fatalf("revoked, ended %q: %v", member.end(), err)
		}
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
		e, err := r.disk.Open(r.t.Context(), "t0")
		if err != nil {
			t.Fatal(err)
		}
		if all, err := e.Buried(r.t.Context()); err != nil || len(all) != 1 || all[0].Revision != revision {
			t.Fatalf("remembered are %+v: %v", all, err)
		}
	})
}
