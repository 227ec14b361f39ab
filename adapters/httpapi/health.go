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
			if err := check(ctx); err != nil {
				Log(ctx).Warn("not ready", "check", name, "error", err)
				Problem(c, fault.New(fault.Unavailable, "not_ready", "%s is not ready", name))
				return
			}
		}
		c.JSON(http.StatusOK, gin.H{"status": "ready"})
	})
}
