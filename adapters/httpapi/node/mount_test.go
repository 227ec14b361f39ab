package node

import (
	"net/http"
	"testing"

	"berth/adapters/contract"
)

// Any other spelling of the assertion's header counts as one more assertion, and never stands for the one there must be.
func TestAssertionSpellings(t *testing.T) {
	t.Parallel()
	const own = contract.HeaderAssertion
	for _, c := range []struct {
		header http.Header
		want   int
	}{
		{http.Header{}, 0},
		{http.Header{own: {"a"}}, 1},
		{http.Header{own: {"a", "b"}}, 2},
		{http.Header{"Berth_Ingress_Assertion": {"a"}}, 0},
		{http.Header{own: {"a"}, "Berth_Ingress_Assertion": {"a"}}, 2},
		{http.Header{own: {"a"}, "Berth-Ingress_assertion": {"b"}, "Berth_ingress-Assertion": {"c"}}, 3},
		{http.Header{own: {"a"}, "Berth-Ingress-Assertions": {"b"}}, 1},
	} {
		if got := assertions(c.header); len(got) != c.want {
			t.Errorf("%v: %v, want %d", c.header, got, c.want)
		}
	}
}

// A body is what it is: no encoding, be it named as the first or the second, empty or not, and no trailer.
func TestPlainBodies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header, trailer http.Header
		ok              bool
	}{
		{http.Header{}, nil, true},
		{http.Header{}, http.Header{}, true},
		{http.Header{"Content-Encoding": {"", "gzip"}}, nil, false},
		{http.Header{"Content-Encoding": {""}}, nil, false},
		{http.Header{"Trailer": {"X"}}, nil, false},
		{http.Header{}, http.Header{"X": {"1"}}, false},
	} {
		if err := plain(&http.Request{Header: c.header, Trailer: c.trailer}); (err == nil) != c.ok {
			t.Errorf("%v %v: %v", c.header, c.trailer, err)
		}
	}
}
