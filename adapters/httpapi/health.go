package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"berth/domain/fault"
)

const probeTimeout = 3 * time.Second

// MountHealth serves /healthz, which says that the process lives, and /readyz, which says that it can serve: every
// check passes now. What fails is logged and named, not explained, since the paths need no token.
func MountHealth(e *gin.Engine, checks map[string]func(context.Context) error) {
	e.GET("/healthz", func(c *gin.Context) {
		scopeOf(c.Request.Context()).operation = "healthz"
		c.JSON(http.StatusOK, gin.H{"status": "alive"})
	})
	e.GET("/readyz", func(c *gin.Context) {
		scopeOf(c.Request.Context()).operation = "readyz"
		ctx, cancel := context.WithTimeout(c.Request.Context(), probeTimeout)
		defer cancel()
		for name, check := range checks {
			if err := within(ctx, check); err != nil {
				Log(ctx).Warn("not ready", "check", name, "error", err)
				Problem(c, fault.New(fault.Unavailable, "not_ready", "%s is not ready", name))
				return
			}
		}
		c.JSON(http.StatusOK, gin.H{"status": "ready"})
	})
}

// within gives a check up when its time is over: one may look at its context too seldom. It then ends by itself.
func within(ctx context.Context, check func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- check(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
