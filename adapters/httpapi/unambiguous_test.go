package httpapi

import (
	"net/http/httptest"
	"strings"
	"testing"

	"berth/adapters/contract"
)

// A header that decides something, and a parameter, are given once or refused.
func TestSaidTwice(t *testing.T) {
	t.Parallel()
	h, _ := serve(t, fine)
	for _, name := range []string{"Authorization", "Content-Type", contract.HeaderIdempotencyKey} {
		r := httptest.NewRequest("POST", "/t/v1/things", strings.NewReader(`{"name":"a","count":1}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header[name] = []string{"application/json", "application/json"}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 422 || slugOf(t, w) != "header_duplicated" {
			t.Errorf("%s twice: %d %s", name, w.Code, w.Body)
		}
	}
	for query, want := range map[string]string{"a=1&a=1": "parameter_duplicated", "a=1&%61=2": "parameter_duplicated", "a=1&b=1": "validation_failed"} {
		if w := do(h, "GET", "/t/v1/things?"+query, ""); w.Code != 422 || slugOf(t, w) != want {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
