package httpapi

import (
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

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
	NewID    func() string // of a request
}

// NewEngine returns a Gin engine that gives every request an id, bounds its body, refuses ambiguous targets, answers
// unknown paths and methods with problems, and survives a panic.
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
	return func(c *gin.Context) {
		s := &scope{requestID: o.NewID(), audience: o.Audience, operation: "none"}
		s.log = o.Log.With("request", s.requestID)
		c.Request = c.Request.WithContext(withScope(c.Request.Context(), s))
		c.Header(contract.HeaderRequestID, s.requestID)
		c.Header("X-Content-Type-Options", "nosniff")
		c.Header("Cache-Control", "no-store")
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, contract.MaxBody)
		start := time.Now()
		if err := identity.CheckTarget(c.Request.RequestURI); err != nil {
			Problem(c, err)
		} else {
			c.Next()
		}
		took := time.Since(start)
		o.Observer.Answered(s.audience, s.operation, c.Writer.Status(), s.slug, took.Seconds())
		s.log.Debug("answered", "operation", s.operation, "status", c.Writer.Status(), "slug", s.slug, "took", took)
	}
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
	s := scopeOf(c.Request.Context())
	a := toAnswer(err)
	a.RequestID = s.requestID
	s.slug = a.Slug()
	if c.Writer.Written() {
		return
	}
	body, merr := json.Marshal(&a.Problem)
	if merr != nil {
		body = []byte("{}")
	}
	c.Data(a.Status, contract.ProblemType, body)
}
