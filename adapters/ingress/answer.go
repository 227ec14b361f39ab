package ingress

import (
	"errors"
	"io"
	"net/http"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress/upstream"
	"berth/domain/fault"
)

// answerBuffer is how much of an answer is held at a time. An answer that fits is whole before its head goes out, so that
// one which breaks off is a problem and not a torn answer.
const answerBuffer = 32 << 10

// answer passes an answer on.
func (x *exchange) answer(a *upstream.Answer) error {
	buffer, _ := x.g.answers.Get().(*[answerBuffer]byte)
	defer x.g.answers.Put(buffer)
	first, err := x.fill(a, buffer[:])
	if err != nil && !errors.Is(err, io.EOF) {
		return x.unanswered(x.r.Context(), err)
	}
	h := x.w.Header()
	giveBack(h, a.Header)
	if !bodyAllowed(a.Status) {
		delete(h, "Content-Length")
	}
	if ids := a.Header[contract.HeaderRequestID]; len(ids) == 1 {
		x.requestID = ids[0]
	}
	if !given(h, "Date") {
		h["Date"] = nil // the control plane's to say
	}
	x.status = a.Status
	x.write(func() (int, error) {
		x.w.WriteHeader(a.Status)
		return x.w.Write(buffer[:first])
	})
	if err == nil {
		x.stream(a, buffer[:])
	}
	return nil
}

func bodyAllowed(status int) bool {
	return status != http.StatusNoContent && status != http.StatusNotModified
}

// fill reads the beginning of an answer: all of one that fits where its length says so, else what comes first.
func (x *exchange) fill(a *upstream.Answer, buffer []byte) (n int, err error) {
	for {
		var more int
		more, err = a.Read(buffer[n:])
		n += more
		if err != nil || n == len(buffer) || a.Length < 0 || a.Length > int64(len(buffer)) {
			return n, err
		}
	}
}

// stream passes on the rest, piece by piece as it comes. The answer has begun: one that breaks off is broken off for the
// client too, who could not tell it from a whole one otherwise.
func (x *exchange) stream(a *upstream.Answer, buffer []byte) {
	x.write(func() (int, error) { return 0, x.control.Flush() })
	for {
		n, err := a.Read(buffer)
		if n > 0 {
			x.write(func() (int, error) {
				n, err := x.w.Write(buffer[:n])
				if err != nil {
					return n, err
				}
				return n, x.control.Flush()
			})
		}
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			x.abort("answer_broken_off", err)
		}
	}
}

// write lets one piece take as long as a slow reader may.
func (x *exchange) write(piece func() (int, error)) {
	_ = x.control.SetWriteDeadline(time.Now().Add(x.g.o.Limits.WriteTimeout)) // a dead connection says so below
	n, err := piece()
	x.bytes += int64(n)
	if err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		x.gone = true
		x.abort("client_gone", err)
	}
}

// abort breaks the connection off; net/http keeps silent about this panic.
func (x *exchange) abort(slug string, err error) {
	x.slug, x.failure = slug, fault.New(fault.Unavailable, slug, "the answer was broken off").Because(err)
	panic(http.ErrAbortHandler)
}
