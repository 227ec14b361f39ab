package listen

import (
	"net/http"

	"berth/domain/identity"
)

// Unambiguous refuses a target that two programs may read differently (I2). A ServeMux cleans such targets and redirects.
func Unambiguous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := identity.CheckTarget(r.RequestURI); err != nil {
			w.Header().Set("Connection", "close")
			http.Error(w, "the target is ambiguous", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
