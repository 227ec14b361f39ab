package peering

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/ident"
)

// ServeHTTP hands a request of a peer on, as one that was forwarded: it is never forwarded again.
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at, ok := r.Context().Value(lineKey{}).(*line)
	if !ok || at.peer() == "" {
		answer(w, fault.New(fault.Unauthenticated, "peer_certificate_missing", "the peer shows no certificate"))
		return
	}
	f := contract.Forwarded{Node: at.peer()}
	var err error
	if f.Generation, err = arrived(r); err != nil {
		answer(w, err)
		return
	}
	l.handler.ServeHTTP(w, r.WithContext(contract.WithForwarded(r.Context(), f)))
}

// arrived judges a forwarded request, and takes off it what is for this hop alone: the generation that the peer believes.
// Faults: NotFound path_unknown; Invalid forwarded_generation.
func arrived(r *http.Request) (int64, error) {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path != contract.ConnectPath && !strings.HasPrefix(path, contract.AttachmentsPath) {
		return 0, fault.New(fault.NotFound, "path_unknown", "peers forward devices' requests, and nothing else")
	}
	values := r.Header[contract.ForwardedGeneration]
	r.Header.Del(contract.ForwardedGeneration)
	if len(values) == 1 {
		n, err := strconv.ParseInt(values[0], 10, 64)
		if err == nil && n >= 1 && n <= ident.MaxCounter && strconv.FormatInt(n, 10) == values[0] {
			return n, nil
		}
	}
	return 0, fault.New(fault.Invalid, "forwarded_generation", "a forwarded request names one generation in %s", contract.ForwardedGeneration)
}

// answer answers with a problem (RFC 9457).
func answer(w http.ResponseWriter, err error) {
	p := contract.FromFault(err)
	h := w.Header()
	if f, ok := fault.As(err); ok && f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int((f.RetryAfter+999_999_999)/1_000_000_000)))
	}
	body, _ := json.Marshal(p) // a problem has nothing that can not be written
	h.Set("Content-Type", contract.ProblemType)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // an error means that the other end is gone
}
