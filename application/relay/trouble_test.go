package relay_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
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
