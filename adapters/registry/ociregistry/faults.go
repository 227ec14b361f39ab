package ociregistry

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// words are the two slugs in which images and charts differ.
type words struct{ thing, missing, away string }

//nolint:gochecknoglobals // immutable tables
var (
	ofImages = words{"image", "image_missing", "image_check_unavailable"}
	ofCharts = words{"chart", "chart_missing", "chart_unavailable"}
)

// unavailable is what everything is that is no clear answer. The detail reaches customers: causes go to the log only.
func (w words) unavailable(from delivery.Registry, what string) *fault.Error {
	return fault.New(fault.Unavailable, w.away, "whether the %s exists can not be told: at registry %s, %s", w.thing, from.Host, what)
}

func (t target) gone() *fault.Error {
	return fault.New(fault.NotFound, t.words.missing, "registry %s has no %s %s", t.from.Host, t.words.thing, t.ref.Repository+separator(t.ref)+t.ref.Identifier()).
		Curable("push it, or name one that is there")
}

func separator(ref delivery.ImageReference) string {
	if ref.Digest != "" {
		return "@"
	}
	return ":"
}

// maxCause bounds what a log repeats of an error, which may quote an answer: a page, or what a token came with.
const maxCause = 500

// brief is an error whose text is cut.
type brief struct{ error }

func (b brief) Error() string {
	text := b.error.Error()
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause], "") + "…"
	}
	return text
}

// Unwrap returns the error itself.
func (b brief) Unwrap() error { return b.error }

// failed says why a request gave no clear answer.
func (s *session) failed(ctx context.Context, err error) error {
	err = brief{err}
	if host := s.gate.refused(); host != "" {
		return s.words.unavailable(s.from, "the answer leads to "+host+", which is no registered registry").
			Curable("an operator registers %s, if it is to be trusted", host).Because(err)
	}
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		return s.words.unavailable(s.from, "the answer is "+status(answer.StatusCode)).Because(err)
	}
	if errors.Is(err, errTooMuch) {
		return s.words.unavailable(s.from, "the answer is too large").Because(err)
	}
	if ctx.Err() != nil {
		return s.words.unavailable(s.from, "there is no answer in time").Because(err)
	}
	return s.words.unavailable(s.from, "there is no answer that makes sense").Because(err)
}

func status(code int) string {
	switch code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "that its credentials do not suffice, or that it has none such"
	case http.StatusTooManyRequests:
		return "that it was asked too often"
	default:
		return http.StatusText(code)
	}
}

// isMissing says whether a registry answered, about a manifest itself, that it has none.
func isMissing(err error) bool {
	answer, ok := errors.AsType[*transport.Error](err)
	return ok && answer.StatusCode == http.StatusNotFound && answer.Request != nil &&
		strings.Contains(answer.Request.URL.Path, "/manifests/")
}
