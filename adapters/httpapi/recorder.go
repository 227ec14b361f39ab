package httpapi

import (
	"bytes"
	"io"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// embedded is huma.Context under a name that does not hide its method Context.
type embedded huma.Context

// recorder holds an answer back until the middleware that made it decides what to do with it.
type recorder struct {
	embedded
	in     io.Reader // the request's body, where it was read before
	out    bytes.Buffer
	status int
	header []headerLine
}

type headerLine struct {
	name, value string
	add         bool
}

func (r *recorder) Unwrap() huma.Context  { return r.embedded }
func (r *recorder) SetStatus(code int)    { r.status = code }
func (r *recorder) Status() int           { return r.status }
func (r *recorder) BodyWriter() io.Writer { return &r.out }
func (r *recorder) SetHeader(name, value string) {
	r.header = append(r.header, headerLine{name, value, false})
}
func (r *recorder) AppendHeader(name, value string) {
	r.header = append(r.header, headerLine{name, value, true})
}

func (r *recorder) BodyReader() io.Reader {
	if r.in != nil {
		return r.in
	}
	return r.embedded.BodyReader()
}

// SetReadDeadline does nothing where the body is here already: a deadline would end the request while it waits.
func (r *recorder) SetReadDeadline(t time.Time) error {
	if r.in != nil {
		return nil
	}
	return r.embedded.SetReadDeadline(t)
}

// get is the last value set for a header.
func (r *recorder) get(name string) string {
	v := ""
	for _, h := range r.header {
		if h.name == name {
			v = h.value
		}
	}
	return v
}

// send lets the answer go.
func (r *recorder) send() {
	for _, h := range r.header {
		if h.add {
			r.embedded.AppendHeader(h.name, h.value)
		} else {
			r.embedded.SetHeader(h.name, h.value)
		}
	}
	r.embedded.SetStatus(r.status)
	_, _ = r.embedded.BodyWriter().Write(r.out.Bytes()) // a write error means that the client is gone
}

// body reads a bounded request body once and hands it on.
func body(ctx huma.Context) ([]byte, error) {
	data, err := io.ReadAll(ctx.BodyReader())
	if err != nil {
		return nil, bodyFault(err)
	}
	return data, nil
}

// Held reads a bounded request body once and returns a context whose body can be read again, for middlewares that
// check what the body is.
func Held(ctx huma.Context) (huma.Context, []byte, error) {
	data, err := body(ctx)
	if err != nil {
		return nil, nil, err
	}
	return &rereader{embedded: ctx, in: bytes.NewReader(data)}, data, nil
}

type rereader struct {
	embedded
	in io.Reader
}

func (r *rereader) Unwrap() huma.Context  { return r.embedded }
func (r *rereader) BodyReader() io.Reader { return r.in }

// SetReadDeadline does nothing: the body is here already, and a deadline would end the request while it waits.
func (r *rereader) SetReadDeadline(time.Time) error { return nil }
