package httpapi

import (
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/domain/identity"
)

// EngineOptions are what an audience's engine needs.
type EngineOptions struct {
	Audience string
	Log      *slog.Logger
	Observer Observer
	NewID    func() string         // of a request
	Random   func(size int) []byte // of traces; crypto/rand when nil
	Sources  *SourceLimits         // of every request, before anything else is looked at; nil for none
}

// NewEngine returns a Gin engine that gives every request an id and its place in a trace, bounds its body, refuses
// ambiguous targets, answers unknown paths and methods with problems, and survives a panic.
func NewEngine(o EngineOptions) *gin.Engine {
	install()
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.UseRawPath = false
	e.ForwardedByClientIP = false
	_ = e.SetTrustedProxies(nil) // can not fail for an empty list
	e.Use(enter(o), survive())
	e.NoRoute(func(c *gin.Context) {
		Problem(c, fault.New(fault.NotFound, "path_unknown", "there is nothing at this path"))
	})
	e.NoMethod(func(c *gin.Context) {
		Problem(c, statusFault{
			fault.New(fault.Invalid, "method_not_allowed", "this path does not take %s", c.Request.Method), http.StatusMethodNotAllowed,
		})
	})
	return e
}

// enter opens the request's scope and closes it with a log line and a count.
func enter(o EngineOptions) gin.HandlerFunc {
	if o.Random == nil {
		o.Random = randomBytes
	}
	return func(c *gin.Context) {
		s := &scope{requestID: o.NewID(), audience: o.Audience, operation: "none"}
		at := joinTrace(c.Request.Header, o.Random)
		s.log = o.Log.With("request", s.requestID, "trace", at.id)
		catchTrailers(c.Request)
		if len(c.Request.TransferEncoding) > 0 {
			// Where a length was sent, too, somebody before us may have believed that; net/http does not tell, and would read
			// what follows as another request (RFC 9112, 6.1).
			c.Header("Connection", "close")
		}
		c.Request = c.Request.WithContext(withScope(c.Request.Context(), s))
		c.Header(contract.HeaderRequestID, s.requestID)
		c.Header(contract.HeaderTraceparent, at.String())
		c.Header("X-Content-Type-Options", "nosniff")
		c.Header("Cache-Control", "no-store")
		bound(c)
		start := time.Now()
		if err := o.admit(c.Request); err != nil {
			Problem(c, err)
		} else {
			c.Next()
		}
		took := time.Since(start)
		o.Observer.Answered(s.audience, s.operation, c.Writer.Status(), s.slug, took.Seconds())
		s.log.Debug("answered", "operation", s.operation, "status", c.Writer.Status(), "slug", s.slug, "took", took)
	}
}

// catchTrailers lets trailers that were not announced be seen by whoever gets a copy of the request: net/http adds them
// to the map that is there when the body ends, or else to the first of the copies alone.
func catchTrailers(r *http.Request) {
	if r.Trailer == nil && r.ContentLength < 0 {
		r.Trailer = http.Header{}
	}
}

// admit is what every request passes, whatever it asks for.
func (o EngineOptions) admit(r *http.Request) error {
	if o.Sources != nil {
		if err := o.Sources.Take(sourceOf(r.RemoteAddr)); err != nil {
			return err
		}
	}
	return identity.CheckTarget(r.RequestURI)
}

// bound limits a body's size and the time it takes to arrive. The deadline ends with the body: one that stayed would
// end the context of a request that waits.
func bound(c *gin.Context) {
	if c.Request.Body == nil || c.Request.Body == http.NoBody {
		return
	}
	deadline := func(t time.Time) { _ = huma.SetReadDeadline(c.Writer, t) } // a recorder in a test has none
	deadline(time.Now().Add(bodyTimeout))
	limited := http.MaxBytesReader(c.Writer, c.Request.Body, contract.MaxBody)
	c.Request.Body = &arriving{ReadCloser: limited, ended: func() { deadline(time.Time{}) }}
}

// arriving tells when a body has arrived. After one that did not, the deadline stays: net/http reads what is left of a
// body before it answers, and would wait for ever for a client that sends no more.
type arriving struct {
	io.ReadCloser
	ended func()
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		a.ended()
	case err != nil:
		err = bodyFault(err) // or it would be taken for a failure of ours
	}
	return n, err
}

// survive turns a panic into an Internal answer, and logs where it came from.
func survive() gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			if r := recover(); r != nil {
				if r == http.ErrAbortHandler { //nolint:errorlint // the value of a panic, compared as net/http does
					panic(r)
				}
				Log(c.Request.Context()).Error("a handler panicked", "panic", r, "stack", string(debug.Stack()))
				Problem(c, fault.New(fault.Internal, "internal", "panic"))
			}
		}()
		c.Next()
	}
}

// Problem answers outside of Huma.
func Problem(c *gin.Context, err error) {
	c.Abort()
	a := refuse(c.Request.Context(), err, c.Header)
	if c.Writer.Written() {
		return
	}
	body, merr := json.Marshal(&a.Problem)
	if merr != nil {
		body = []byte("{}")
	}
	c.Data(a.Status, contract.ProblemType, body)
}
