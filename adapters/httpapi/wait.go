package httpapi

import (
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Wait reads the wait of a long poll: a duration such as 30s, or whole seconds; empty is none. Fault: Invalid
// invalid_wait.
func Wait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if n, numErr := strconv.Atoi(text); numErr == nil {
		wait, err = time.Duration(n)*time.Second, nil
	}
	if err != nil || wait < 0 || wait > contract.MaxWait*time.Second {
		return 0, fault.New(fault.Invalid, "invalid_wait", "a wait lies between 0 and %ds", contract.MaxWait).At("query.wait")
	}
	return wait, nil
}

// Source is the address that a request came from, for the audit log.
func Source(ctx huma.Context) string {
	return sourceOf(ctx.RemoteAddr())
}

// SourceOf is Source for what is served without Huma.
func SourceOf(r *http.Request) string { return sourceOf(r.RemoteAddr) }

func sourceOf(remote string) string {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return "local"
	}
	return host
}
