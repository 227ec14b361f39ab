package identity_test

import (
	"net/url"
	"path"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/identity/targets"
)

// The kept corpus is judged as it says (I2).
func TestTargetCorpus(t *testing.T) {
	t.Parallel()
	accepted, refused := 0, 0
	for _, v := range targets.All() {
		err := identity.CheckTarget(v.Text)
		if v.Accept {
			accepted++
			if err != nil {
				t.Errorf("%q: %v", v.Text, err)
			}
			continue
		}
		refused++
		if fault.SlugOf(err) != "target_ambiguous" || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: accepted or wrongly refused: %v", v.Text, err)
		}
	}
	if accepted < 25 || refused < 135 {
		t.Errorf("the corpus lost lines: %d accepted, %d refused", accepted, refused)
	}
}

// A target at the limit is accepted, one byte more is not.
func TestTargetLength(t *testing.T) {
	t.Parallel()
	longest := "/" + strings.Repeat("a", identity.MaxTarget-1)
	must(t, identity.CheckTarget(longest))
	wantFault(t, identity.CheckTarget(longest+"a"), fault.Invalid, "target_ambiguous")
}

// Whatever is accepted means the same to a parser that decodes and to one that does not: it comes back unchanged, and
// its decoded path is clean, with the same number of segments.
func FuzzCheckTarget(f *testing.F) {
	for _, v := range targets.All() {
		f.Add(v.Text)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if identity.CheckTarget(raw) != nil {
			return
		}
		u, err := url.ParseRequestURI(raw)
		if err != nil || u.RequestURI() != raw || u.Host != "" || u.Opaque != "" {
			t.Fatalf("%q is read as %+v, %v", raw, u, err)
		}
		trimmed := strings.TrimSuffix(u.Path, "/")
		if trimmed != "" && path.Clean(u.Path) != trimmed || strings.Count(u.Path, "/") != strings.Count(u.EscapedPath(), "/") {
			t.Fatalf("%q decodes to the unclean path %q", raw, u.Path)
		}
		again, err := url.PathUnescape(u.Path)
		if err != nil || again != u.Path {
			t.Fatalf("%q decodes a second time, to %q", raw, again)
		}
		if _, err := url.ParseQuery(u.RawQuery); err != nil {
			t.Fatalf("the query of %q is not read: %v", raw, err)
		}
	})
}
