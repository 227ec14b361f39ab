package contract

import (
	"net/http"
	"strings"

	"berth/domain/fault"
)

// ProblemType is the media type of every error answer (RFC 9457).
const ProblemType = "application/problem+json"

// ProblemPrefix begins the type of every problem; the slug follows.
const ProblemPrefix = "urn:berth:problem:"

// Problem is an error answer (RFC 9457).
type Problem struct {
	Type      string        `json:"type" doc:"urn:berth:problem:<slug>; the slug is stable" example:"urn:berth:problem:node_not_found"`
	Title     string        `json:"title" doc:"What sort of refusal it is"`
	Status    int           `json:"status" doc:"The HTTP status"`
	Detail    string        `json:"detail,omitempty" doc:"What happened, for people"`
	Cure      string        `json:"cure,omitempty" doc:"What would make the request succeed"`
	RequestID string        `json:"request_id,omitempty" doc:"Also in the header X-Request-Id; name it when you ask for help"`
	Errors    []ProblemPart `json:"errors,omitempty" doc:"Every part that failed"`
}

// ProblemPart is one of several things that failed.
type ProblemPart struct {
	Slug   string `json:"slug"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty" doc:"Where it is, e.g. body.capacity.tenants"`
	Cure   string `json:"cure,omitempty"`
}

// Slug is the stable name in the problem's type.
func (p *Problem) Slug() string { return strings.TrimPrefix(p.Type, ProblemPrefix) }

// Error makes a problem an error.
func (p *Problem) Error() string { return p.Slug() + ": " + p.Detail }

// statuses is the problem table: what each kind of fault is shown as.
var statuses = map[fault.Kind]int{ //nolint:gochecknoglobals // an immutable table
	fault.Internal:        http.StatusInternalServerError,
	fault.Invalid:         http.StatusUnprocessableEntity,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.AlreadyExists:   http.StatusConflict,
	fault.Conflict:        http.StatusConflict,
	fault.Gone:            http.StatusGone,
	fault.Exhausted:       http.StatusTooManyRequests,
	fault.Unavailable:     http.StatusServiceUnavailable,
}

// StatusOf is the HTTP status of a kind of fault.
func StatusOf(k fault.Kind) int { return statuses[k] }

// FromFault renders an error. What is Internal is shown as nothing but that: its detail goes to the log.
func FromFault(err error) *Problem {
	f, ok := fault.As(err)
	if !ok || f.Kind == fault.Internal {
		return &Problem{
			Type: ProblemPrefix + "internal", Title: http.StatusText(http.StatusInternalServerError),
			Status: http.StatusInternalServerError, Detail: "the server failed; its log names this request id",
		}
	}
	p := &Problem{
		Type: ProblemPrefix + f.Slug, Title: http.StatusText(StatusOf(f.Kind)), Status: StatusOf(f.Kind),
		Detail: f.Detail, Cure: f.Cure,
	}
	if len(f.Errors) == 0 && f.Field != "" {
		p.Errors = []ProblemPart{{Slug: f.Slug, Detail: f.Detail, Field: f.Field, Cure: f.Cure}}
	}
	for _, e := range f.Errors {
		p.Errors = append(p.Errors, ProblemPart{Slug: e.Slug, Detail: e.Detail, Field: e.Field, Cure: e.Cure})
	}
	return p
}

// Fault is the problem as the fault it was, for clients. The kind is what the status says; of the two that share 409
// it is Conflict.
func (p *Problem) Fault() *fault.Error {
	kind := fault.Internal
	for k, status := range statuses {
		if status == p.Status && k != fault.AlreadyExists {
			kind = k
		}
	}
	f := &fault.Error{Kind: kind, Slug: p.Slug(), Detail: p.Detail, Cure: p.Cure}
	for _, e := range p.Errors {
		f.Errors = append(f.Errors, &fault.Error{Kind: kind, Slug: e.Slug, Detail: e.Detail, Field: e.Field, Cure: e.Cure})
	}
	return f
}
