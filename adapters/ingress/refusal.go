package ingress

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// refusal is a fault that HTTP has a status of its own for, or after which the connection can not go on.
type refusal struct {
	fault  *fault.Error
	status int  // 0 for that of the kind
	close  bool // where the request ends is not certain, or not worth finding out
}

func (r *refusal) Error() string { return r.fault.Error() }

func (r *refusal) Unwrap() error { return r.fault }

// form is a request that is refused for its form. Its connection is closed: what follows on it may have been meant for
// another reader.
func form(status int, slug, format string, args ...any) *refusal {
	return &refusal{fault: fault.New(fault.Invalid, slug, format, args...), status: status, close: true}
}

// closing refuses for a fault and closes the connection.
func closing(err error) *refusal {
	f, ok := fault.As(err)
	if !ok {
		f = fault.New(fault.Internal, "internal", "unclassified").Because(err)
	}
	return &refusal{fault: f, close: true}
}

// refuse answers with a problem (RFC 9457).
func (x *exchange) refuse(err error) {
	p := contract.FromFault(err)
	last := false
	if r, ok := errors.AsType[*refusal](err); ok {
		last = r.close
		if r.status != 0 {
			p.Status, p.Title = r.status, http.StatusText(r.status)
		}
	}
	x.slug, x.failure, x.status = p.Slug(), err, p.Status
	if x.gone { // net/http would answer 200 for a handler that says nothing, and the client may have closed its half only
		panic(http.ErrAbortHandler)
	}
	p.RequestID = x.id()
	h := x.w.Header()
	if last {
		h.Set("Connection", "close")
	}
	if f, ok := fault.As(err); ok && f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((f.RetryAfter+time.Second-1)/time.Second), 10))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Certificate")
	}
	x.problem(p)
}

func (x *exchange) problem(p *contract.Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}")
	}
	h := x.w.Header()
	h.Set("Content-Type", contract.ProblemType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set(contract.HeaderRequestID, p.RequestID)
	if !x.bodyRead {
		// net/http reads what is left of a body before it answers; it shall not wait for it.
		_ = x.control.SetReadDeadline(time.Now().Add(lingering))
	}
	_ = x.control.SetWriteDeadline(time.Now().Add(x.g.o.Limits.WriteTimeout))
	x.w.WriteHeader(p.Status)
	n, _ := x.w.Write(body) // the client may be gone
	x.bytes = int64(n)
}

// lingering is how long the rest of a body that is not wanted is waited for.
const lingering = 500 * time.Millisecond
