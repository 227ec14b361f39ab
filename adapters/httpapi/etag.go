package httpapi

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"berth/domain/fault"
)

// Conditional gives every successful GET a strong ETag of what it answers, and answers If-None-Match with 304. A write
// under a condition that the operation does not know is refused, rather than carried out without it.
func Conditional(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if ctx.Method() != http.MethodGet {
			if ctx.Header("If-Match") != "" || ctx.Header("If-Unmodified-Since") != "" {
				Refuse(api, ctx, statusFault{
					fault.New(fault.Conflict, "precondition_unsupported", "this operation takes no condition"),
					http.StatusPreconditionFailed,
				})
				return
			}
			next(ctx)
			return
		}
		r := &recorder{embedded: ctx}
		next(r)
		if r.status != http.StatusOK {
			r.send()
			return
		}
		tag := r.get("ETag")
		if tag == "" {
			tag = etag(r.out.Bytes())
			r.SetHeader("ETag", tag)
		}
		if matches(ctx.Header("If-None-Match"), tag) {
			ctx.SetHeader("ETag", tag)
			ctx.SetStatus(http.StatusNotModified)
			return
		}
		r.send()
	}
}

func etag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// matches compares weakly, as RFC 9110 §13.1.2 says for If-None-Match.
func matches(header, tag string) bool {
	for part := range strings.SplitSeq(header, ",") {
		part = strings.TrimPrefix(strings.TrimSpace(part), "W/")
		if part == "*" || part == tag {
			return part != ""
		}
	}
	return false
}
