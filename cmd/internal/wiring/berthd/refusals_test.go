package berthd

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"berth/adapters/metrics"
	"berth/ports/clock/clocktest"
)

// An ingress with another secret or another clock is told of, at most once a minute for each slug; what a node does wrong
// itself is not.
func TestTellsOfAnIngressThatIsSetWrong(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	r := provideRefusals(metrics.New("test"), slog.New(slog.NewTextHandler(&out, nil)), c)
	for range 3 {
		for _, slug := range []string{"assertion_secret_unknown", "assertion_expired", "credential_revoked", "assertion_missing"} {
			r.AssertionRefused(slug)
		}
		c.Advance(29 * time.Second)
	}
	if n := strings.Count(out.String(), "\n"); n != 2 {
		t.Fatalf("told %d times:\n%s", n, out.String())
	}
	c.Advance(time.Minute)
	r.AssertionRefused("assertion_secret_unknown")
	if n := strings.Count(out.String(), "slug=assertion_secret_unknown"); n != 2 {
		t.Errorf("told %d times in two minutes", n)
	}
}
