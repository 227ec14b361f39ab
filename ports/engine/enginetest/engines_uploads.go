package enginetest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/stream"
	"berth/ports/engine"
)

// endsWithEngine has an Engine closed, and opened again, while a part is read: whatever else comes of that part, it touches
// nothing of what the next Engine has.
func endsWithEngine(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s, e := fresh(tb, d)
	content, half := []byte("0123456789"), []byte("half of it")
	for name, again := range map[string]func(next engine.Engine){
		"another upload": func(next engine.Engine) { uploads(tb, next, content) },
		"a part":         func(next engine.Engine) { begins(tb, next, half, 5) },
	} {
		of := content
		if name == "a part" {
			of = half
		}
		_, err := e.Upload(tb.Context(), partOfAll(of), &during{strings.NewReader("XXXXXXXXXX"), func() {
			ok(tb, e.Close())
			e = opened(tb, s, "a")
			again(e)
		}})
		isFault(tb, "a part whose Engine was closed, beside "+name, err, fault.Unavailable, "engine_closed")
	}
	attached(tb, e, content)
	uploaded(tb, e, half, 5)
	if whole, err := e.Upload(tb.Context(), partOfSome(half, 5, 10), bytes.NewReader(half[5:])); err != nil || !whole {
		tb.Fatalf("the rest ends with %v %v", whole, err)
	}
	attached(tb, e, half)
}

// boundsUploads begins more uploads than are kept.
func boundsUploads(tb testing.TB, d EngineDisk) {
	tb.Helper()
	_, e := fresh(tb, d)
	other := []byte("another principal's")
	p := partOfSome(other, 0, 3)
	p.Principal = "dev_2"
	if _, err := e.Upload(tb.Context(), p, bytes.NewReader(other)); err != nil {
		tb.Fatal(err)
	}
	left := func(n int) (all int) {
		for i := range n {
			have, err := e.Uploaded(tb.Context(), "dev_1", digestOf(fmt.Appendf(nil, "upload %d", i)))
			ok(tb, err)
			all += int(have)
		}
		return all
	}
	for i := range stream.MaxUploads + 5 {
		content := fmt.Appendf(nil, "upload %d", i)
		begins(tb, e, content, 1)
		uploaded(tb, e, content, 1)
		if n := left(i + 1); n != min(i+1, stream.MaxUploads) {
			tb.Fatalf("of %d uploads %d are kept", i+1, n)
		}
	}
	if n, err := e.Uploaded(tb.Context(), "dev_2", digestOf(other)); err != nil || n != 3 {
		tb.Fatalf("of another principal's %d bytes are there: %v", n, err)
	}
	last := fmt.Appendf(nil, "upload %d", stream.MaxUploads+4)
	if whole, err := e.Upload(tb.Context(), partOfSome(last, 1, len(last)), bytes.NewReader(last[1:])); err != nil || !whole {
		tb.Fatalf("the last ends with %v %v", whole, err)
	}
}

// keepsRoom has a part come where there is room for one, while another is on its way.
func keepsRoom(tb testing.TB, d EngineDisk) {
	tb.Helper()
	s := d.Open(tb, stream.Limits{Tenant: 2*stream.AttachmentCost(0) + 15, Attachment: 100})
	e := opened(tb, s, "a")
	first, second := []byte("0123456789"), []byte("abcdefghij")
	var beside error
	_, err := e.Upload(tb.Context(), partOfAll(first), &during{bytes.NewReader(first), func() {
		_, beside = e.Upload(tb.Context(), partOfAll(second), unread(tb))
	}})
	ok(tb, err)
	isFault(tb, "what does not fit beside what is on its way", beside, fault.Exhausted, "tenant_quota_exceeded")
	begins(tb, e, second, 5) // nothing is kept for what is through
}
