package stream_test

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/stream"
)

// slug is the slug of a refusal; empty where there is none.
func slug(f *fault.Error) string {
	if f == nil {
		return ""
	}
	return f.Slug
}

// An id is what the contract says, and nothing else is.
func TestIDs(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`\A[!-~]{1,64}\z`)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.StringMatching(`[!-~]{60,66}`), rapid.StringMatching(`[ -~]{0,9}`), rapid.String()).Draw(t, "id")
		if got := slug(stream.CheckID(id)) == ""; got != form.MatchString(id) {
			t.Fatalf("%q is taken: %v", id, got)
		}
	})
	for _, id := range []string{"", " ", "a b", "\x7f", "é", "a\n", strings.Repeat("a", 65)} {
		if slug(stream.CheckID(id)) != "publish_id_invalid" {
			t.Errorf("%q is taken", id)
		}
	}
}

// A body is one JSON value of at most 48 KiB.
func TestBodies(t *testing.T) {
	t.Parallel()
	fits := `"` + strings.Repeat("x", stream.MaxBody-2) + `"`
	for body, want := range map[string]string{
		"": "body_missing", "{}": "", "null": "", `"x"`: "", " 1 ": "", fits: "", fits + " ": "body_too_large",
		"{} {}": "body_not_json", "{": "body_not_json", "{'a':1}": "body_not_json", "\x00": "body_not_json", "NaN": "body_not_json",
	} {
		if got := slug(stream.CheckBody([]byte(body))); got != want {
			t.Errorf("a body of %d bytes, %.9q…: %q, not %q", len(body), body, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.SliceOfN(rapid.Byte(), 1, 40).Draw(t, "body")
		if (slug(stream.CheckBody(body)) == "") != json.Valid(body) {
			t.Fatalf("%q", body)
		}
	})
}

// A repeated id is the message of then or a conflict, also where only spaces differ: what was acknowledged is the text.
func TestRepeats(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, now := rapid.SliceOf(rapid.Byte()).Draw(t, "before"), rapid.SliceOf(rapid.Byte()).Draw(t, "now")
		want := "publish_id_reused"
		if bytes.Equal(before, now) {
			want = ""
		}
		if got := slug(stream.Repeats(before, now)); got != want {
			t.Fatalf("%q and %q: %q", before, now, got)
		}
	})
	if slug(stream.Repeats([]byte("{}"), []byte("{}"))) != "" || slug(stream.Repeats([]byte("{}"), []byte("{ }"))) == "" {
		t.Error("equality is not that of bytes")
	}
}

// Sequences go up by one, to an end.
func TestNext(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		last := rapid.Int64Range(0, stream.MaxSequence).Draw(t, "last")
		next, err := stream.Next(last)
		if last == stream.MaxSequence && slug(err) != "route_exhausted" || last < stream.MaxSequence && (err != nil || next != last+1) {
			t.Fatalf("after %d comes %d, %v", last, next, err)
		}
	})
	if _, err := stream.Next(stream.MaxSequence); slug(err) != "route_exhausted" {
		t.Errorf("after the last: %v", err)
	}
}

// Nobody subscribes after what is not there.
func TestCheckAfter(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after, head int64
		want        string
	}{{0, 0, ""}, {5, 5, ""}, {4, 5, ""}, {6, 5, "after_beyond_end"}, {-1, 5, "out_of_range"}, {math.MaxInt64, 5, "out_of_range"}} {
		if got := slug(stream.CheckAfter(c.after, c.head)); got != c.want {
			t.Errorf("after %d of %d: %q", c.after, c.head, got)
		}
	}
}

// Whatever is asked for in whatever order, what was admitted never exceeds the quota, and what fits is admitted.
func TestQuota(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := stream.Limits{Tenant: rapid.OneOf(rapid.Int64Range(0, 5000), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "quota")}
		used := int64(0)
		for _, more := range rapid.SliceOf(rapid.OneOf(rapid.Int64Range(0, 900), rapid.Int64Range(0, math.MaxInt64))).Draw(t, "asked") {
			refused := l.Admits(used, more)
			if fits := more <= l.Tenant-used; fits != (refused == nil) || !fits && refused.Slug != "tenant_quota_exceeded" {
				t.Fatalf("%d beside %d of %d: %v", more, used, l.Tenant, refused)
			}
			if refused == nil {
				used += more
			}
			if used < 0 || used > l.Tenant {
				t.Fatalf("%d of %d are used", used, l.Tenant)
			}
		}
	})
}

// A message costs at least what it consists of, and more as it grows.
func TestCost(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		route, principal, id := rapid.String().Draw(t, "route"), rapid.String().Draw(t, "principal"), rapid.String().Draw(t, "id")
		body := rapid.SliceOf(rapid.Byte()).Draw(t, "body")
		cost := stream.Cost(route, principal, id, body)
		if cost <= int64(len(route)+len(principal)+len(id)+len(body)) || stream.Cost(route, principal, id, append(body, 0)) != cost+1 {
			t.Fatalf("it costs %d", cost)
		}
	})
}

// An attachment costs more than its content, so that empty ones are not without end.
func TestAttachmentBounds(t *testing.T) {
	t.Parallel()
	for _, size := range []int64{0, 1, 1 << 30} {
		if cost := stream.AttachmentCost(size); cost < size+4096 {
			t.Errorf("%d bytes cost %d", size, cost)
		}
	}
}

// Whatever parts come, what is there lies within the attachment, is one piece, and is whole where nothing is missing.
func TestUploads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := stream.Limits{Attachment: rapid.Int64Range(0, 9).Draw(t, "limit")}
		size, have := rapid.OneOf(rapid.Just(l.Attachment), rapid.Int64Range(-1, l.Attachment+1)).Draw(t, "size"), int64(0)
		for range rapid.IntRange(1, 20).Draw(t, "parts") {
			edge := rapid.Int64Range(math.MaxInt64-3, math.MaxInt64)
			u := stream.Upload{
				Offset: rapid.OneOf(rapid.Just(have), rapid.Just(have), rapid.Just(int64(0)), rapid.Int64Range(-1, 10), edge).Draw(t, "offset"),
				Length: rapid.OneOf(rapid.Int64Range(0, 4), rapid.Int64Range(-1, 10), edge).Draw(t, "length"), Size: size,
			}
			got := slug(l.Judge(u, have))
			within := size >= 0 && u.Offset >= 0 && u.Length >= 0 && u.Offset <= size && u.Length <= size && u.Offset+u.Length <= size
			want := ""
			switch {
			case !within:
				want = "attachment_size_differs"
			case size > l.Attachment:
				want = "attachment_too_large"
			case u.Offset != have && u.Offset != 0:
				want = "upload_offset"
			}
			if got != want {
				t.Fatalf("%+v on %d: %q, not %q", u, have, got, want)
			}
			if got != "" {
				continue
			}
			have = u.Offset + u.Length
			if have > size || have > l.Attachment || u.Whole() != (have == size) {
				t.Fatalf("%d of %d are there, whole: %v", have, size, u.Whole())
			}
		}
	})
}
