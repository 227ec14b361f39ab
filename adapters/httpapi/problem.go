package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// problem is a problem as Huma writes it, and describes it under this name.
type problem struct{ contract.Problem }

// GetStatus is the HTTP status.
func (a *problem) GetStatus() int { return a.Status }

// ContentType is the media type of a problem.
func (a *problem) ContentType(string) string { return contract.ProblemType }

// install sets Huma's process-wide hooks: how an error becomes an answer, and the slugs of its validation.
var install = sync.OnceFunc(func() { //nolint:gochecknoglobals // Huma's hooks are process-wide, so is their setting
	slugValidation()
	huma.DefaultArrayNullable = false // a list that is empty is [], never null
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return toAnswer(fromHuma(status, msg, errs))
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		f := fromHuma(status, msg, errs)
		if ctx == nil {
			return toAnswer(f)
		}
		return refuse(ctx.Context(), f, ctx.SetHeader)
	}
})

// Refuse answers a request with a fault; a middleware returns after it.
func Refuse(api huma.API, ctx huma.Context, err error) {
	_ = huma.WriteErr(api, ctx, http.StatusInternalServerError, "", err) // a write error means that the client is gone
}

// refuse renders a fault, sets what headers it needs, and notes it for the log and the counters.
func refuse(ctx context.Context, err error, set func(name, value string)) *problem {
	s := scopeOf(ctx)
	a := toAnswer(err)
	a.RequestID = s.requestID
	s.slug = a.Slug()
	f, _ := fault.As(err)
	if a.Status >= http.StatusInternalServerError && s.slug != "request_ended" { // a client that left is no failure of ours
		s.log.Error("request failed", "operation", s.operation, "slug", s.slug, "error", err)
	}
	switch {
	case f != nil && f.RetryAfter > 0:
		set("Retry-After", seconds(f.RetryAfter))
	case a.Status == http.StatusServiceUnavailable, a.Status == http.StatusTooManyRequests:
		set("Retry-After", "1")
	case a.Status == http.StatusUnauthorized:
		set("WWW-Authenticate", "Bearer")
	}
	return a
}

func seconds(d time.Duration) string {
	return strconv.FormatInt(int64((d+time.Second-1)/time.Second), 10)
}

func toAnswer(err error) *problem {
	if s, ok := errors.AsType[statusFault](err); ok {
		p := contract.FromFault(s.error)
		p.Status, p.Title = s.status, http.StatusText(s.status)
		return &problem{*p}
	}
	return &problem{*contract.FromFault(err)}
}

// statusFault is a fault of HTTP's own, for which the problem table has no kind.
type statusFault struct {
	error
	status int
}

func (s statusFault) Unwrap() error { return s.error }

// fromHuma turns what Huma found wrong with a request into a fault. A handler's error arrives as the only one, with
// status 500.
func fromHuma(status int, msg string, errs []error) error {
	if len(errs) == 1 {
		if _, ok := fault.As(errs[0]); ok {
			return errs[0]
		}
	}
	if status >= http.StatusInternalServerError {
		return fault.New(fault.Internal, "internal", "%s", msg).Because(errors.Join(errs...))
	}
	var parts []*fault.Error
	for _, e := range errs {
		if d, ok := errors.AsType[*huma.ErrorDetail](e); ok {
			slug, detail := splitSlug(d.Message, status)
			parts = append(parts, fault.New(fault.Invalid, slug, "%s", detail).At(d.Location))
		}
	}
	switch len(parts) {
	case 0:
		return statusFault{fault.New(fault.Invalid, statusSlug(status), "%s", msg), status}
	case 1:
		if status == http.StatusUnsupportedMediaType {
			return withStatus(parts[0].Curable("send Content-Type: application/json"), status)
		}
		return withStatus(parts[0], status)
	}
	f := fault.New(fault.Invalid, "validation_failed", "%d things are wrong with this request", len(parts))
	f.Errors = parts
	return withStatus(f, status)
}

func withStatus(f *fault.Error, status int) error {
	if status == 0 || status == contract.StatusOf(f.Kind) {
		return f
	}
	return statusFault{f, status}
}

func statusSlug(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return "body_too_large"
	case http.StatusUnsupportedMediaType:
		return "media_type_unsupported"
	case http.StatusRequestTimeout:
		return "body_too_slow"
	case http.StatusNotAcceptable:
		return "not_acceptable"
	case http.StatusMethodNotAllowed:
		return "method_not_allowed"
	case http.StatusNotFound:
		return "path_unknown"
	}
	return "invalid_request"
}

const slugMark = "\x1f"

// splitSlug finds the slug in front of a message; a message without one is named by the status, where that says more.
func splitSlug(message string, status int) (slug, detail string) {
	if s, d, ok := strings.Cut(message, slugMark); ok {
		return s, d
	}
	if slug := statusSlug(status); slug != "invalid_request" {
		return slug, message
	}
	return "invalid_value", message
}

// slugValidation gives each of Huma's validation messages a slug in front, so that problems are told apart by it and
// never by text.
func slugValidation() {
	for slug, messages := range map[string][]*string{
		"unknown_field":          {&validation.MsgUnexpectedProperty},
		"required_field_missing": {&validation.MsgExpectedRequiredProperty, &validation.MsgExpectedDependentRequiredProperty},
		"wrong_type": {
			&validation.MsgExpectedBoolean, &validation.MsgExpectedNumber, &validation.MsgExpectedInteger,
			&validation.MsgExpectedString, &validation.MsgExpectedArray, &validation.MsgExpectedObject,
		},
		"out_of_range": {
			&validation.MsgExpectedMinimumNumber, &validation.MsgExpectedExclusiveMinimumNumber,
			&validation.MsgExpectedMaximumNumber, &validation.MsgExpectedExclusiveMaximumNumber,
		},
		"invalid_length": {
			&validation.MsgExpectedMinLength, &validation.MsgExpectedMaxLength,
			&validation.MsgExpectedMinItems, &validation.MsgExpectedMaxItems,
		},
		"invalid_value":  {&validation.MsgExpectedOneOf},
		"invalid_format": {&validation.MsgExpectedRFC3339DateTime, &validation.MsgExpectedBase64String, &validation.MsgExpectedMatchPattern},
	} {
		for _, m := range messages {
			*m = slug + slugMark + *m
		}
	}
}

// bodyFault says why a body could not be read.
func bodyFault(err error) error {
	if _, known := fault.As(err); known {
		return err
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return statusFault{
			fault.New(fault.Invalid, "body_too_large", "a body has at most %d bytes", large.Limit), http.StatusRequestEntityTooLarge,
		}
	}
	return statusFault{fault.New(fault.Invalid, "body_unreadable", "the body could not be read to its end").Because(err), http.StatusBadRequest}
}
