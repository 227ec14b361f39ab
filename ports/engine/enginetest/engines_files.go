package enginetest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/domain/stream"
	"berth/ports/engine"
)

func digestOf(content []byte) [32]byte { return sha256.Sum256(content) }

func partOfAll(content []byte) engine.Part {
	return engine.Part{
		Generation: 1, Principal: "dev_1", Digest: digestOf(content), Length: int64(len(content)), Size: int64(len(content)),
	}
}

// partOfSome is bytes of an attachment from one place up to another.
func partOfSome(content []byte, from, to int) engine.Part {
	p := partOfAll(content)
	p.Offset, p.Length = int64(from), int64(to-from)
	return p
}

// uploads uploads an attachment at once.
func uploads(tb testing.TB, e engine.Engine, content []byte) {
	tb.Helper()
	if whole, err := e.Upload(tb.Context(), partOfAll(content), bytes.NewReader(content)); err != nil || !whole {
		tb.Fatalf("an upload ends with %v %v", whole, err)
	}
}

// begins uploads the first bytes of an attachment.
func begins(tb testing.TB, e engine.Engine, content []byte, upTo int) {
	tb.Helper()
	if whole, err := e.Upload(tb.Context(), partOfSome(content, 0, upTo), bytes.NewReader(content)); err != nil || whole {
		tb.Fatalf("a first part ends with %v %v", whole, err)
	}
}

func uploaded(tb testing.TB, e engine.Engine, content []byte, want int64) {
	tb.Helper()
	if n, err := e.Uploaded(tb.Context(), "dev_1", digestOf(content)); err != nil || n != want {
		tb.Fatalf("%d bytes are uploaded, %v; not %d", n, err, want)
	}
}

func attached(tb testing.TB, e engine.Engine, content []byte) {
	tb.Helper()
	if size, err := e.Stat(tb.Context(), digestOf(content)); err != nil || size != int64(len(content)) {
		tb.Fatalf("an attachment has %d bytes, %v", size, err)
	}
	f, err := e.Content(tb.Context(), digestOf(content))
	ok(tb, err)
	got, err := io.ReadAll(f)
	ok(tb, err)
	if !bytes.Equal(got, content) {
		tb.Fatalf("an attachment is %q", got)
	}
	if at, err := f.Seek(int64(len(content)/2), io.SeekStart); err != nil || at != int64(len(content)/2) {
		tb.Fatalf("seeking ends at %d %v", at, err)
	}
	if rest, err := io.ReadAll(f); err != nil || !bytes.Equal(rest, content[len(content)/2:]) {
		tb.Fatalf("the second half is %q %v", rest, err)
	}
	ok(tb, f.Close())
}

func missing(tb testing.TB, e engine.Engine, content []byte) {
	tb.Helper()
	_, stat := e.Stat(tb.Context(), digestOf(content))
	_, opened := e.Content(tb.Context(), digestOf(content))
	for _, err := range []error{stat, opened} {
		isFault(tb, "what is not there", err, fault.NotFound, "attachment_missing")
	}
}

func attaches(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	big := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	for _, content := range [][]byte{{}, []byte("x"), big} {
		missing(tb, e, content)
		uploaded(tb, e, content, 0)
		uploads(tb, e, content)
		attached(tb, e, content)
		uploaded(tb, e, content, 0)
	}
	cut := []byte("never whole")
	begins(tb, e, cut, 4)
	missing(tb, e, cut)
	ok(tb, e.Close())
	e = opened(tb, s, "a")
	attached(tb, e, big)
	missing(tb, e, cut)
}

func resumes(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	content := []byte("0123456789")
	begins(tb, e, content, 3)
	uploaded(tb, e, content, 3)
	for _, at := range []int{2, 4, 10} {
		_, err := e.Upload(tb.Context(), partOfSome(content, at, 10), bytes.NewReader(content[at:]))
		isFault(tb, "a part at another place", err, fault.Conflict, "upload_offset")
	}
	broken := errors.New("the line broke")
	_, err := e.Upload(tb.Context(), partOfSome(content, 3, 10), io.MultiReader(strings.NewReader("34"), iotest.ErrReader(broken)))
	if !errors.Is(err, broken) {
		tb.Fatalf("a reader's error comes as %v", err)
	}
	_, err = e.Upload(tb.Context(), partOfSome(content, 5, 10), strings.NewReader("56"))
	isFault(tb, "a part that ends early", err, fault.Invalid, "attachment_size_differs")
	uploaded(tb, e, content, 7)
	if n, err := e.Uploaded(tb.Context(), "dev_2", digestOf(content)); err != nil || n != 0 {
		tb.Fatalf("another principal has uploaded %d %v", n, err)
	}
	ok(tb, e.Close())
	e = opened(tb, s, "a")
	uploaded(tb, e, content, 7)
	// A reader has no more than its part to give, whatever comes behind.
	if whole, err := e.Upload(tb.Context(), partOfSome(content, 7, 10), strings.NewReader("789 and more")); err != nil || !whole {
		tb.Fatalf("the last part ends with %v %v", whole, err)
	}
	attached(tb, e, content)
	other := []byte("from the beginning")
	begins(tb, e, other, 9)
	begins(tb, e, other, 4)
	uploaded(tb, e, other, 4)
	uploads(tb, e, other)
	attached(tb, e, other)
}

func provesDigests(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	content := []byte("0123456789")
	before := usage(tb, e)
	wrong := []byte("012345678X")
	_, err := e.Upload(tb.Context(), partOfAll(content), bytes.NewReader(wrong))
	isFault(tb, "another content", err, fault.Invalid, "attachment_digest_differs")
	uploaded(tb, e, content, 0)
	begins(tb, e, slices.Concat(content), 3)
	_, err = e.Upload(tb.Context(), partOfSome(content, 3, 10), bytes.NewReader(wrong[3:]))
	isFault(tb, "another end", err, fault.Invalid, "attachment_digest_differs")
	uploaded(tb, e, content, 0)
	missing(tb, e, content)
	missing(tb, e, wrong)
	if after := usage(tb, e); after != before {
		tb.Fatalf("what is refused changes %+v to %+v", before, after)
	}
	uploads(tb, e, content)
	attached(tb, e, content)
}

func boundsAttachments(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s := d.Open(tb, stream.Limits{Tenant: 1 << 20, Attachment: 10})
	e := opened(tb, s, "a")
	large := []byte("0123456789x")
	_, err := e.Upload(tb.Context(), partOfAll(large), unread(tb))
	isFault(tb, "what is too large", err, fault.Invalid, "attachment_too_large")
	content := large[:10]
	for _, spoil := range []func(*engine.Part){
		func(p *engine.Part) { p.Length = 11 }, func(p *engine.Part) { p.Offset = -1 }, func(p *engine.Part) { p.Length = -1 },
		func(p *engine.Part) { p.Size = -1 }, func(p *engine.Part) { p.Offset, p.Length = 11, 0 },
		func(p *engine.Part) { p.Offset, p.Length = 1<<62, 1<<62 },
	} {
		p := partOfAll(content)
		spoil(&p)
		_, err := e.Upload(tb.Context(), p, unread(tb))
		isFault(tb, "a part outside", err, fault.Invalid, "attachment_size_differs")
	}
	uploaded(tb, e, content, 0)
	uploads(tb, e, content)
}

type never struct{ tb testing.TB }

func (n never) Read([]byte) (int, error) {
	n.tb.Error("a part that is refused, or not needed, is read")
	return 0, io.ErrUnexpectedEOF
}

// unread is what nobody is to read.
func unread(tb testing.TB) io.Reader { return never{tb} }

func wholeAtOnce(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	content := []byte("0123456789")
	begins(tb, e, content, 3)
	other := partOfAll(content)
	other.Principal = "dev_2"
	if whole, err := e.Upload(tb.Context(), other, bytes.NewReader(content)); err != nil || !whole {
		tb.Fatalf("an upload ends with %v %v", whole, err)
	}
	before := usage(tb, e)
	for range 2 {
		if whole, err := e.Upload(tb.Context(), partOfSome(content, 3, 5), unread(tb)); err != nil || !whole {
			tb.Fatalf("a part of what is there ends with %v %v", whole, err)
		}
		uploaded(tb, e, content, 0)
	}
	if after := usage(tb, e); after != before {
		tb.Fatalf("usage is %+v, not %+v", after, before)
	}
	both := []byte("by two at a time")
	other = partOfAll(both)
	other.Principal = "dev_2"
	if whole, err := e.Upload(tb.Context(), other, &during{bytes.NewReader(both), func() { uploads(tb, e, both) }}); err != nil || !whole {
		tb.Fatalf("an upload that another overtook ends with %v %v", whole, err)
	}
	if u := usage(tb, e); u.Attachments != before.Attachments+1 || u.Bytes != before.Bytes+stream.AttachmentCost(int64(len(both))) {
		tb.Fatalf("usage is %+v after %+v", u, before)
	}
	recopy(tb, s, "a", fenced)
	_, err := e.Upload(tb.Context(), partOfAll(content), unread(tb))
	isFault(tb, "an acknowledgement behind the fence", err, fault.Unavailable, "copy_fenced")
	attached(tb, e, content)
}

// during has something happen once the first bytes of a part were read.
type during struct {
	io.Reader

	happens func()
}

func (d *during) Read(b []byte) (int, error) {
	if d.happens != nil {
		d.happens()
		d.happens = nil
	}
	return d.Reader.Read(b[:min(len(b), 2)])
}

func uploadsAreWrites(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	content := []byte("0123456789")
	for _, generation := range []int64{0, 2} {
		p := partOfAll(content)
		p.Generation = generation
		_, err := e.Upload(tb.Context(), p, unread(tb))
		isFault(tb, "an upload of another generation", err, fault.Unavailable, "copy_fenced")
	}
	before := usage(tb, e)
	_, err := e.Upload(tb.Context(), partOfAll(content), &during{bytes.NewReader(content), func() { recopy(tb, s, "a", fenced) }})
	isFault(tb, "an upload that a fence overtakes", err, fault.Unavailable, "copy_fenced")
	missing(tb, e, content)
	if after := usage(tb, e); after != before {
		tb.Fatalf("what is refused changes %+v to %+v", before, after)
	}
	uploaded(tb, e, content, 10)
	recopy(tb, s, "a", unfenced)
	if whole, err := e.Upload(tb.Context(), partOfSome(content, 10, 10), strings.NewReader("")); err != nil || !whole {
		tb.Fatalf("what is left of it ends with %v %v", whole, err)
	}
	attached(tb, e, content)
	slow, second := []byte("one part at a time"), error(nil)
	_, err = e.Upload(tb.Context(), partOfAll(slow), &during{bytes.NewReader(slow), func() {
		_, second = e.Upload(tb.Context(), partOfAll(slow), unread(tb))
	}})
	ok(tb, err)
	isFault(tb, "a part beside another of its upload", second, fault.Exhausted, "engine_busy")
	moved := []byte("of an earlier copy")
	_, err = e.Upload(tb.Context(), partOfAll(moved), &during{bytes.NewReader(moved), func() {
		recopy(tb, s, "a", func(c *placement.Copy) { c.Stamp = 2 })
	}})
	isFault(tb, "an upload of before", err, fault.Unavailable, "copy_fenced")
}

func attachmentsCount(tb testing.TB, d EngineDisk) {
	tb.Helper()
	block := stream.AttachmentCost(0)
	s := d.Open(tb, stream.Limits{Tenant: 2*block + 400, Attachment: 1000})
	e := opened(tb, s, "a")
	first, second := bytes.Repeat([]byte("a"), 250), bytes.Repeat([]byte("b"), 200)
	uploads(tb, e, first)
	_, err := e.Upload(tb.Context(), partOfAll(second), unread(tb))
	isFault(tb, "what does not fit", err, fault.Exhausted, "tenant_quota_exceeded")
	begins(tb, e, second, 100)
	_, err = e.Upload(tb.Context(), partOfAll(nil), unread(tb))
	isFault(tb, "what does not fit beside an upload", err, fault.Exhausted, "tenant_quota_exceeded")
	_, err = e.Upload(tb.Context(), partOfSome(second, 100, 200), unread(tb))
	isFault(tb, "the end of what does not fit", err, fault.Exhausted, "tenant_quota_exceeded")
	missing(tb, e, second)
	exact, b := bytes.Repeat([]byte("d"), 400), opened(tb, s, "b")
	begins(tb, b, exact, 300)
	if whole, err := b.Upload(tb.Context(), partOfSome(exact, 300, 400), bytes.NewReader(exact[300:])); err != nil || !whole {
		tb.Fatalf("the end of what just fits: %v %v", whole, err)
	}
	big := write("main", "m1")
	big.Body = []byte(`"` + strings.Repeat("x", int(block)+150) + `"`)
	refuses(tb, e, big, fault.Exhausted, "tenant_quota_exceeded")
	put(tb, e, write("main", "m2"))
	attached(tb, e, first)
	s = d.Open(tb, stream.Limits{Tenant: 3*block + 600, Attachment: 1000})
	e = opened(tb, s, "a")
	_, err = e.Upload(tb.Context(), partOfAll(second), &during{bytes.NewReader(second), func() { put(tb, e, big) }})
	isFault(tb, "what does not fit any more once it is whole", err, fault.Exhausted, "tenant_quota_exceeded")
	missing(tb, e, second)
}
