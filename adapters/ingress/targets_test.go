package ingress_test

import (
	"strings"
	"testing"

	"berth/domain/identity/targets"
)

// Of the corpus of targets, below the nodes' API as they are there and below it by a prefix, exactly those that
// identity.CheckTarget accepts and that lie below it are passed on, byte for byte; every other is refused (I2, lesson 9).
func TestTargetsOfTheCorpus(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, v := range targets.All() {
		for _, prefix := range []string{"", "/internal/v1"} {
			target := prefix + v.Text
			if strings.Contains(target, "\r\n") {
				continue // on the wire it is the end of a request line, and what follows is a header
			}
			before := len(w.back.all())
			c := w.as("n1")
			c.write("GET " + target + " HTTP/1.1\r\nHost: berth\r\n\r\n")
			a, err := c.read()
			if err != nil {
				t.Fatalf("%q: %v", target, err)
			}
			got := w.back.all()[before:]
			if len(got) > 1 || (a.StatusCode == 200) != (len(got) == 1) {
				t.Fatalf("%q: answered %d, and %d arrived", target, a.StatusCode, len(got))
			}
			if len(got) == 0 {
				continue
			}
			if got[0].target() != target {
				t.Errorf("%q arrived as %q", target, got[0].target())
			}
			if _, err := w.proven(got[0]); err != nil {
				t.Errorf("%q: %v", target, err)
			}
			_ = c.Close()
		}
	}
	if len(w.back.all()) < 15 {
		t.Errorf("only %d of the corpus arrived", len(w.back.all()))
	}
}
