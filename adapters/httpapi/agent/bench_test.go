package agent_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// BenchmarkPollWithNothingNew is what one poll costs in the handler: one signature that is checked, and one read.
func BenchmarkPollWithNothingNew(b *testing.B) {
	s := enrolled(b)
	s.publish("1.0.0")
	const path = "/agent/v1/desired-state"
	etag := s.asks("GET", path, "").Header().Get("ETag")
	token := "Bearer " + s.token("GET", path, "")
	b.ReportAllocs()
	b.ResetTimer()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", token)
		r.Header.Set("If-None-Match", etag)
		out := httptest.NewRecorder()
		s.handler.ServeHTTP(out, r)
		if out.Code != http.StatusNotModified {
			b.Fatal(out.Code, out.Body)
		}
	}
}
