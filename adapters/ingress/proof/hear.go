package proof

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"berth/adapters/contract"
)

// answer is one HTTP/1 answer.
type answer struct {
	status int
	slug   string
	header http.Header
	body   []byte
}

// heard is all that came back on a connection.
type heard struct {
	answers []answer
	end     Way // how the first answer did not come; Closed after the last where the server closed
	note    string
	open    bool // the server left the connection open
}

// outcome is what one request led to.
func (h heard) outcome() Outcome {
	switch len(h.answers) {
	case 0:
		return Outcome{Way: h.end, Note: h.note}
	case 1:
		return Outcome{Way: Answered, Status: h.answers[0].status, Slug: h.answers[0].slug}
	}
	last := h.answers[len(h.answers)-1]
	return Outcome{Way: Several, Status: last.status, Slug: last.slug}
}

// ask connects, writes bytes as they are and hears what comes back.
func (s *Site) ask(ctx context.Context, e *Endpoint, raw string, how ...dialing) (Outcome, error) {
	w, o, err := s.dial(ctx, e, how...)
	if w == nil {
		return o, err
	}
	defer w.Close()
	return s.talk(ctx, w, raw).outcome(), nil
}

// talk writes while it hears: who is refused early may never get rid of all of it.
func (s *Site) talk(ctx context.Context, w *wire, raw string) heard {
	stop := context.AfterFunc(ctx, func() { _ = w.Close() })
	defer stop()
	w.patient(s.patience())
	written := make(chan struct{})
	go func() {
		defer close(written)
		_, _ = io.WriteString(w, raw)
	}()
	h := s.hear(w, bufio.NewReader(w))
	if !h.open {
		_ = w.Close()
	}
	_ = w.SetWriteDeadline(time.Now())
	<-written
	_ = w.SetWriteDeadline(time.Time{})
	return h
}

func (s *Site) hear(w *wire, in *bufio.Reader) heard {
	var h heard
	for {
		a, err := read(in)
		switch {
		case err == nil && a.status >= 100 && a.status < 200 && a.status != http.StatusSwitchingProtocols:
			continue
		case err == nil:
			h.answers = append(h.answers, a)
			_ = w.SetReadDeadline(time.Now().Add(s.quiet()))
			continue
		case errors.Is(err, os.ErrDeadlineExceeded):
			h.end, h.open = Silent, true
		case alerted(err):
			h.end, h.note = Handshake, err.Error()
		default:
			h.end = Closed
		}
		return h
	}
}

const maxAnswer = 8 << 20

func read(in *bufio.Reader) (answer, error) {
	if _, err := in.Peek(1); err != nil {
		return answer{}, err
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // until the connection ends, where no length is given
	if err != nil {
		return answer{}, err
	}
	return answer{status: resp.StatusCode, slug: slugOf(resp.Header.Get("Content-Type"), body), header: resp.Header, body: body}, nil
}

func slugOf(contentType string, body []byte) string {
	var p contract.Problem
	if contentType != contract.ProblemType || json.Unmarshal(body, &p) != nil {
		return ""
	}
	return p.Slug()
}
