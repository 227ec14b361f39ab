// Package fault is Berth's error vocabulary: every refusal that leaves the domain, the application or a port is a
// fault.Error, so that each surface (HTTP, command line, Kubernetes conditions) maps it once and by kind.
package fault

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what sort of refusal an error is. The zero value is Internal, so that an unclassified error is never
// mistaken for the caller's own.
type Kind uint8

// The kinds, and the HTTP status each is shown as.
const (
	Internal        Kind = iota // 500: a defect; the detail is logged and not shown
	Invalid                     // 422 (400 where the request could not be parsed)
	Unauthenticated             // 401
	Forbidden                   // 403
	NotFound                    // 404
	AlreadyExists               // 409
	Conflict                    // 409
	Gone                        // 410
	Exhausted                   // 429
	Unavailable                 // 503, with RetryAfter
)

var kindNames = [...]string{ //nolint:gochecknoglobals // an immutable table
	"internal", "invalid", "unauthenticated", "forbidden", "not_found", "already_exists", "conflict", "gone",
	"exhausted", "unavailable",
}

// String returns the kind's name in snake case.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "internal"
}

// Error is one refusal. Slug is stable and append-only: programs match on it. Detail is for people and holds no
// secret. Cure says what would make the request succeed. Err is the cause, for logs only.
type Error struct {
	Kind       Kind
	Slug       string        // snake case, e.g. "heartbeat_sequence_stale"
	Detail     string        // one sentence for a person
	Field      string        // the path of the offending field, e.g. "capacity.tenants"; empty when it is none
	Cure       string        // what to do about it; may be empty
	RetryAfter time.Duration // when trying again makes sense; zero when unknown
	Errors     []*Error      // every part that failed, where several did
	Err        error         // the cause; logged, never shown
}

// New makes a fault of the given kind and slug; the detail is formatted as by fmt.Sprintf.
func New(kind Kind, slug, format string, args ...any) *Error {
	return &Error{Kind: kind, Slug: slug, Detail: fmt.Sprintf(format, args...)}
}

// Error returns kind, slug and detail, and the cause where there is one.
func (e *Error) Error() string {
	s := e.Kind.String() + " " + e.Slug + ": " + e.Detail
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// At returns a copy that names the offending field.
func (e *Error) At(field string) *Error {
	c := *e
	c.Field = field
	return &c
}

// Curable returns a copy that says what would make the request succeed.
func (e *Error) Curable(format string, args ...any) *Error {
	c := *e
	c.Cure = fmt.Sprintf(format, args...)
	return &c
}

// Because returns a copy that carries a cause.
func (e *Error) Because(err error) *Error {
	c := *e
	c.Err = err
	return &c
}

// After returns a copy that says when trying again makes sense.
func (e *Error) After(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// All joins several refusals into one answer that names each; nil where there is none, the fault itself where it is
// one. Kind and slug are those of the first.
func All(errs ...*Error) error {
	var kept []*Error
	for _, e := range errs {
		if e != nil {
			kept = append(kept, e)
		}
	}
	switch len(kept) {
	case 0:
		return nil
	case 1:
		return kept[0]
	}
	return &Error{
		Kind: kept[0].Kind, Slug: kept[0].Slug,
		Detail: fmt.Sprintf("%d things are wrong with this request", len(kept)), Errors: kept,
	}
}

// As finds the fault in an error chain.
func As(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// KindOf returns the kind of the fault in an error chain, and Internal where there is none.
func KindOf(err error) Kind {
	if e, ok := As(err); ok {
		return e.Kind
	}
	return Internal
}

// SlugOf returns the slug of the fault in an error chain, and "internal" where there is none.
func SlugOf(err error) string {
	if e, ok := As(err); ok {
		return e.Slug
	}
	return "internal"
}
