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
	"berth/domain/fault"
)

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

// A device whose upload breaks off hurts nobody: what breaks is its line, and not the tenant's Engine.
func TestBrokenUpload(t *testing.T) {
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
