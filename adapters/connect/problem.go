package connect

import (
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// statusFault is a fault of HTTP's own, for which the problem table has no kind, with a header that goes with it.
type statusFault struct {
	fault        *fault.Error
	status       int
	header, says string
}

func (s *statusFault) Error() string { return s.fault.Error() }

func (s *statusFault) Unwrap() error { return s.fault }

func withStatus(status int, f *fault.Error) *statusFault {
	return &statusFault{fault: f, status: status}
}

func (s *statusFault) with(header, says string) *statusFault {
	s.header, s.says = header, says
	return s
}

// reject refuses a request whose token was not even looked at, and ends its connection: it holds no place among those of devices.
func (h *Handler) reject(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("Connection", "close")
	h.refuse(w, r, err)
}

// refuse answers a request with a problem (RFC 9457). A request without a good token ends its connection, so that another
// attempt costs a handshake.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request, err error) {
	p := contract.FromFault(err)
	if s, ok := errors.AsType[*statusFault](err); ok {
		p.Status, p.Title = s.status, http.StatusText(s.status)
		if s.header != "" {
			w.Header().Set(s.header, s.says)
		}
	}
	p.RequestID = rand.Text()
	h.note(r, p, err)
	header := w.Header()
	switch wait := waitOf(err); {
	case wait > 0:
		header.Set("Retry-After", strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10))
	case p.Status == http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
		header.Set("Connection", "close")
	}
	header.Set("X-Request-Id", p.RequestID)
	header.Set("Content-Type", contract.ProblemType)
	header.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(h.o.Limits.WriteTimeout)) // a dead connection says so below
	w.WriteHeader(p.Status)
	_ = json.MarshalWrite(w, p) // an error means that the client is gone
}

// note has the log say why a request was refused: what is the node's own fault aloud.
func (h *Handler) note(r *http.Request, p *contract.Problem, err error) {
	if p.Status == http.StatusInternalServerError && r.Context().Err() == nil {
		h.o.Log.Error("a device's request failed", "request_id", p.RequestID, "method", r.Method, "error", err)
		return
	}
	h.o.Log.Debug("a device's request was refused", "request_id", p.RequestID, "method", r.Method, "slug", p.Slug())
}

// waitOf is how long a device had better wait before it tries again; 0 where that makes no sense.
func waitOf(err error) time.Duration {
	f, ok := fault.As(err)
	switch {
	case !ok:
		return 0
	case f.RetryAfter > 0:
		return f.RetryAfter
	case f.Kind == fault.Exhausted || f.Kind == fault.Unavailable:
		return time.Second
	}
	return 0
}

func pathUnknown() error {
	return fault.New(fault.NotFound, "path_unknown", "there is nothing here").
		Curable("devices connect at %s, and find attachments below %s", contract.ConnectPath, contract.AttachmentsPath)
}

func methodNotAllowed(allow string) error {
	return withStatus(http.StatusMethodNotAllowed, fault.New(fault.Invalid, "method_not_allowed", "this is not done here")).
		with("Allow", allow)
}
