package registrytest

import (
	"bytes"
	"strings"
	"testing"

	"berth/domain/fault"
)

// packaged stands for a packaged chart: a client fetches, and does not look inside.
func packaged() []byte { return bytes.Repeat([]byte("a chart, gzipped"), 1000) }

func fetchesCharts(tb testing.TB, s Subject) {
	s.PutChart(tb, "charts/shop", "1.0.0", packaged())
	got, err := s.chart(tb, s.named("charts/shop:1.0.0"))
	if err != nil || !bytes.Equal(got, packaged()) {
		tb.Fatalf("%d bytes came, and %d were pushed: %v", len(got), len(packaged()), err)
	}
	_, err = s.Charts.Chart(tb.Context(), s.registries(), s.named("charts/shop:1.0.0"))
	refused(tb, "a chart without oci://", err, fault.Invalid, "image_reference_invalid")
}

func pinsCharts(tb testing.TB, s Subject) {
	digest := s.PutChart(tb, "charts/shop", "1.0.0", packaged())
	s.PutChart(tb, "charts/shop", "1.0.0", []byte("another"))
	got, err := s.chart(tb, s.named("charts/shop@"+digest))
	if err != nil || !bytes.Equal(got, packaged()) {
		tb.Fatalf("%d bytes came, and %d were pushed: %v", len(got), len(packaged()), err)
	}
}

func missesCharts(tb testing.TB, s Subject) {
	s.PutChart(tb, "charts/shop", "1.0.0", packaged())
	for _, rest := range []string{"charts/shop:2.0.0", "charts/other:1.0.0", "charts/shop@sha256:" + strings.Repeat("0", 64)} {
		_, err := s.chart(tb, s.named(rest))
		refused(tb, rest, err, fault.NotFound, "chart_missing")
	}
}

func claimsNoChart(tb testing.TB, s Subject) {
	s.PutChart(tb, "charts/shop", "1.0.0", packaged())
	s.Break(tb, true)
	for _, tag := range []string{"1.0.0", "2.0.0"} {
		_, err := s.chart(tb, s.named("charts/shop:"+tag))
		refused(tb, tag+" of a broken registry", err, fault.Unavailable, "chart_unavailable")
	}
	s.Break(tb, false)
	if _, err := s.chart(tb, s.named("charts/shop:1.0.0")); err != nil {
		tb.Fatalf("after it came back: %v", err)
	}
}

func tellsThemApart(tb testing.TB, s Subject) {
	s.Put(tb, "shop", "1.0", "linux/amd64")
	s.PutChart(tb, "charts/shop", "1.0.0", packaged())
	_, err := s.chart(tb, s.named("shop:1.0"))
	refused(tb, "an image", err, fault.Invalid, "chart_invalid")
	_, err = s.resolve(tb, s.named("charts/shop:1.0.0"))
	refused(tb, "a chart", err, fault.Unavailable, "image_check_unavailable")
}
