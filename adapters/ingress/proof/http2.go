package proof

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// stream is a connection of HTTP/2 whose frames are written by hand.
type stream struct {
	*wire
	framer *http2.Framer
	packed bytes.Buffer
	pack   *hpack.Encoder
}

// field is a header field as it is packed; pseudo-headers are fields as well.
type field struct{ name, value string }

// multiplex opens a connection of HTTP/2. Without one the outcome says why: a listener that does not speak it has none of
// its ambiguities.
func (s *Site) multiplex(ctx context.Context, e *Endpoint, how ...dialing) (*stream, Outcome, error) {
	if !e.TLS {
		return nil, Outcome{Way: Unspoken}, nil
	}
	w, o, err := s.dial(ctx, e, append(how, func(c *tls.Config) { c.NextProtos = []string{"h2"} })...)
	if w == nil {
		return nil, o, err
	}
	if tc, ok := w.Conn.(*tls.Conn); ok && tc.ConnectionState().NegotiatedProtocol != "h2" {
		_ = w.Close()
		return nil, Outcome{Way: Unspoken}, nil
	}
	w.patient(s.patience())
	x := &stream{wire: w, framer: http2.NewFramer(w, w)}
	x.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	x.framer.AllowIllegalWrites = true
	x.pack = hpack.NewEncoder(&x.packed)
	if _, err := io.WriteString(w, http2.ClientPreface); err != nil {
		_ = w.Close()
		return nil, Outcome{Way: Closed}, nil //nolint:nilerr // it was not let in
	}
	return x, Outcome{}, x.framer.WriteSettings()
}

func (x *stream) block(fields []field) []byte {
	x.packed.Reset()
	for _, f := range fields {
		_ = x.pack.WriteField(hpack.HeaderField{Name: f.name, Value: f.value}) // into memory
	}
	return bytes.Clone(x.packed.Bytes())
}

// headers writes a request's head.
func (x *stream) headers(id uint32, end bool, fields ...field) {
	_ = x.framer.WriteHeaders(http2.HeadersFrameParam{ // a failed write shows in what is read
		StreamID: id, BlockFragment: x.block(fields), EndStream: end, EndHeaders: true,
	})
}

func (x *stream) data(id uint32, end bool, body string) {
	_ = x.framer.WriteData(id, end, []byte(body))
}

// reading is a stream's answer as far as it has come.
type reading struct {
	id     uint32
	status int
	kind   string
	body   []byte
}

// hear reads until a stream is answered, reset, or ended with its connection.
func (x *stream) hear(id uint32) Outcome {
	r := reading{id: id}
	for {
		frame, err := x.framer.ReadFrame()
		if err != nil {
			return ended(err)
		}
		if s, ok := frame.(*http2.SettingsFrame); ok && !s.IsAck() {
			_ = x.framer.WriteSettingsAck() // a failed write shows in what is read
		}
		if g, ok := frame.(*http2.GoAwayFrame); ok && g.ErrCode != http2.ErrCodeNo {
			return Outcome{Way: Closed, Note: g.ErrCode.String()}
		}
		if frame.Header().StreamID != id {
			continue
		}
		if o, done := r.take(frame); done {
			return o
		}
	}
}

// take takes one frame of the stream.
func (r *reading) take(frame http2.Frame) (o Outcome, done bool) {
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		r.status, r.kind = statusOf(f)
		return r.outcome(), f.StreamEnded()
	case *http2.DataFrame:
		r.body = append(r.body, f.Data()...)
		return r.outcome(), f.StreamEnded()
	case *http2.RSTStreamFrame:
		if r.status == 0 {
			return Outcome{Way: Reset, Note: f.ErrCode.String()}, true
		}
		return r.outcome(), true
	}
	return Outcome{}, false
}

func (r *reading) outcome() Outcome {
	return Outcome{Way: Answered, Status: r.status, Slug: slugOf(r.kind, r.body)}
}

func ended(err error) Outcome {
	if _, ok := errors.AsType[http2.StreamError](err); ok {
		return Outcome{Way: Reset}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Outcome{Way: Silent}
	}
	if alerted(err) {
		return Outcome{Way: Handshake}
	}
	return Outcome{Way: Closed}
}

func statusOf(f *http2.MetaHeadersFrame) (status int, contentType string) {
	for _, h := range f.Fields {
		switch h.Name {
		case ":status":
			status, _ = strconv.Atoi(h.Value)
		case "content-type":
			contentType = h.Value
		}
	}
	return status, contentType
}

// oddity is a request of HTTP/2 that is no request, or that HTTP/1 would write differently.
type oddity struct {
	what, tries string
	send        func(x *stream, sound []field) (id uint32)
	must        []Expect
}

func http2Probes() []Probe {
	var out []Probe
	for _, l := range []Listener{OnAPI, OnEnroll, OnInternal} {
		for _, o := range oddities() {
			out = append(out, o.probe(l))
		}
	}
	return append(out, Probe{
		ID: identify(OnIngress, KindHTTP2, "negotiated"), Kind: KindHTTP2, Listener: OnIngress, Tries: "HTTP/2 by negotiation",
		Must: []Expect{{Way: Handshake}, {Way: Unspoken}, {Way: Closed}}, run: tryNegotiated,
	})
}

func tryNegotiated(ctx context.Context, s *Site) (Outcome, error) {
	e, err := s.endpoint(OnIngress)
	if err != nil {
		return Outcome{}, err
	}
	x, o, err := s.multiplex(ctx, e, showing(s.First.Certificate))
	if x == nil {
		return o, err
	}
	defer x.Close()
	x.headers(1, true, fieldsOf(e, "GET", assignments(s.First.ID))...)
	return x.hear(1), nil
}

func fieldsOf(e *Endpoint, method, path string) []field {
	return []field{{":method", method}, {":scheme", "https"}, {":authority", e.host()}, {":path", path}}
}

func (o oddity) probe(l Listener) Probe {
	path := map[Listener]string{OnAPI: "/api/v1/nodes", OnEnroll: "/enroll/v1/nodes", OnInternal: "/internal/v1/peers"}[l] //nolint:exhaustive // where it is tried
	return Probe{
		ID: identify(l, KindHTTP2, o.what), Kind: KindHTTP2, Listener: l, Tries: o.tries,
		Must: append([]Expect{{Way: Unspoken}, {Way: Unreached}, {Way: Handshake}}, o.must...),
		run: func(ctx context.Context, s *Site) (Outcome, error) {
			e, err := s.endpoint(l)
			if err != nil {
				return Outcome{}, err
			}
			x, seen, err := s.multiplex(ctx, e)
			if x == nil {
				return seen, err
			}
			defer x.Close()
			stop := context.AfterFunc(ctx, func() { _ = x.Close() })
			defer stop()
			x.patient(s.patience())
			return x.hear(o.send(x, fieldsOf(e, "GET", path))), nil
		},
	}
}
