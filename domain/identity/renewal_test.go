package identity

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A certificate is renewed by half of its life and not before four tenths of it, each node at its own moment; it is in
// force from its beginning up to, and without, its end.
func TestRenewal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		life := time.Duration(rapid.Int64Range(int64(time.Minute), int64(30*24*time.Hour)).Draw(t, "life"))
		begins := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		c := NodeCertificate{NotBefore: begins, NotAfter: begins.Add(life)}
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		if at := c.RenewAt(share).Sub(begins); at > life/2 || at < life*4/10-time.Microsecond {
			t.Fatalf("of a life of %v it is renewed after %v", life, at)
		}
		if c.InForce(begins.Add(-1)) || !c.InForce(begins) || !c.InForce(c.NotAfter.Add(-1)) || c.InForce(c.NotAfter) {
			t.Fatal("its ends are not sharp")
		}
	})
}
