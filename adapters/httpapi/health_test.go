package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"berth/adapters/httpapi"
)

// A check that does not look at its context, as one of a database that hangs, is given up; who probes is answered.
func TestReadinessDoesNotHang(t *testing.T) {
	t.Parallel()
	e := gin.New()
	held := make(chan struct{})
	defer close(held)
	httpapi.MountHealth(e, map[string]func(context.Context) error{"database": func(context.Context) error {
		<-held
		return nil
	}})
	w := httptest.NewRecorder()
	e.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody))
	if w.Code != http.StatusServiceUnavailable {
		t.Fatalf("answered %d %s", w.Code, w.Body)
	}
}
