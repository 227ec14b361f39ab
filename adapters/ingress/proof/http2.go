package proof

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"strconv"
	"time"

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

// hear reads until a stream is answered, reset, or ended with its connection.
func (x *stream) hear(id uint32) Outcome {
	var status int
	var kind string
	var body []byte
	for {
		frame, err := x.framer.ReadFrame()
		if err != nil {
			return ended(err)
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID != id {
				continue
			}
			status, kind = statusOf(f)
			if f.StreamEnded() {
				return Outcome{Way: Answered, Status: status}
			}
		case *http2.DataFrame:
			if f.StreamID != id {
				continue
			}
			body = append(body, f.Data()...)
			if f.StreamEnded() {
				return Outcome{Way: Answered, Status: status, Slug: slugOf(kind, body)}
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == id && status == 0 {
				return Outcome{Way: Reset, Note: f.ErrCode.String()}
			}
			if f.StreamID == id {
				return Outcome{Way: Answered, Status: status, Slug: slugOf(kind, body)}
			}
		case *http2.GoAwayFrame:
			if f.ErrCode != http2.ErrCodeNo {
				return Outcome{Way: Closed, Note: f.ErrCode.String()}
			}
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = x.framer.WriteSettingsAck()
			}
		}
	}
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
	defer x.Close() //nolint:errcheck // nothing is lost with it
	x.headers(1, true, fieldsOf(e, "GET", assignments(s.First.ID))...)
	return x.hear(1), nil
}

func fieldsOf(e *Endpoint, method, path string) []field {
	return []field{{":method", method}, {":scheme", "https"}, {":authority", e.host()}, {":path", path}}
}

func (o oddity) probe(l Listener) Probe {
	path := map[Listener]string{OnAPI: "/api/v1/nodes", OnEnroll: "/enroll/v1/nodes", OnInternal: "/internal/v1/peers"}[l]
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
			defer x.Close() //nolint:errcheck // nothing is lost with it
			stop := context.AfterFunc(ctx, func() { _ = x.Close() })
			defer stop()
			x.patient(min(s.patience(), 5*time.Second))
			return x.hear(o.send(x, fieldsOf(e, "GET", path))), nil
		},
	}
}
