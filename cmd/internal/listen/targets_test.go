package listen

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"berth/domain/identity/targets"
)

// What serves a page reads targets as every listener does: the corpus is taken as it is, or refused, and never cleaned.
func TestPagesReadTargetsAsListenersDo(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	handler := Unambiguous(mux)
	for _, c := range targets.All() {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RequestURI = c.Text
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if taken := w.Code == http.StatusOK; taken != c.Accept {
			t.Errorf("%q: %d", c.Text, w.Code)
		}
	}
}
