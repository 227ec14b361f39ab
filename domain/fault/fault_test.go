package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
)

// An error that nobody classified is never the caller's own fault, and neither is the zero value.
func TestUnclassifiedIsInternal(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, context.Canceled, fmt.Errorf("wrapped: %w", io.EOF), &Error{}} {
		if k := KindOf(err); k != Internal {
			t.Errorf("%v is %s", err, k)
		}
	}
	if got := SlugOf(io.EOF); got != "internal" {
		t.Errorf("slug %s", got)
	}
	if _, ok := As(io.EOF); ok {
		t.Error("found a fault where there is none")
	}
	if Kind(200).String() != "internal" {
		t.Error("an unknown kind has another name than internal")
	}
}

// Each kind has a name of its own, in snake case: surfaces and logs tell them apart by it.
func TestKindsHaveNames(t *testing.T) {
	t.Parallel()
	seen := map[string]Kind{}
	for k := Internal; k <= Unavailable; k++ {
		name := k.String()
		if other, ok := seen[name]; ok || name == "" || strings.ToLower(name) != name || strings.ContainsAny(name, " -") {
			t.Errorf("kind %d is called %q, like %d", k, name, other)
		}
		seen[name] = k
	}
	if len(seen) != len(kindNames) {
		t.Errorf("%d names for %d kinds", len(kindNames), len(seen))
	}
}

// Faults are found through wrapping and joining, never by text.
func TestFaultsAreFoundThroughWrapping(t *testing.T) {
	t.Parallel()
	e := New(Conflict, "heartbeat_sequence_stale", "sequence %d was already passed", 7)
	for _, err := range []error{e, fmt.Errorf("beat: %w", e), errors.Join(io.EOF, fmt.Errorf("beat: %w", e))} {
		if got, ok := As(err); !ok || got != e || KindOf(err) != Conflict || SlugOf(err) != "heartbeat_sequence_stale" {
			t.Errorf("%v: got %v", err, got)
		}
	}
	if e.Detail != "sequence 7 was already passed" {
		t.Errorf("detail %q", e.Detail)
	}
}

// What is added makes a copy: one fault kept as a constant is not changed by its users.
func TestAdditionsLeaveTheOriginalAlone(t *testing.T) {
	t.Parallel()
	e := New(Unavailable, "store_unavailable", "the store is away")
	before := *e
	got := e.At("capacity.tenants").Curable("wait %d s", 3).Because(io.EOF).After(2 * time.Second)
	want := &Error{
		Kind: Unavailable, Slug: "store_unavailable", Detail: "the store is away", Field: "capacity.tenants", Cure: "wait 3 s",
		RetryAfter: 2 * time.Second, Err: io.EOF,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if !reflect.DeepEqual(*e, before) {
		t.Errorf("the original became %+v", e)
	}
}

// The cause is for logs: it is in the text and found by errors.Is, and it is not in the detail.
func TestCauseIsForLogs(t *testing.T) {
	t.Parallel()
	e := New(Internal, "row_damaged", "a row can not be read").Because(io.ErrUnexpectedEOF)
	if !errors.Is(e, io.ErrUnexpectedEOF) || strings.Contains(e.Detail, "EOF") {
		t.Errorf("got %+v", e)
	}
	if got, want := e.Error(), "internal row_damaged: a row can not be read: unexpected EOF"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := New(Gone, "delta_compacted", "too old").Error(), "gone delta_compacted: too old"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A detail that holds a percent sign as data is not formatted again.
func TestDetailsAreData(t *testing.T) {
	t.Parallel()
	if e := New(Invalid, "x", "%s", "100 %d"); e.Detail != "100 %d" {
		t.Errorf("got %q", e.Detail)
	}
}

// All names every part, in order; none is no error at all, also for callers that compare with nil; one is itself.
func TestAllNamesEveryPart(t *testing.T) {
	t.Parallel()
	a, b := New(Invalid, "invalid_id", "bad").At("id"), New(Conflict, "target_full", "full").At("target_node")
	if err := All(); err != nil {
		t.Errorf("nothing: %v", err)
	}
	if err := All(nil, nil); err != nil {
		t.Errorf("two that passed: %v", err)
	}
	if got, ok := As(All(nil, a, nil)); !ok || got != a {
		t.Errorf("one: %v", got)
	}
	e, ok := As(All(a, nil, b))
	if !ok || e.Kind != Invalid || e.Slug != "invalid_id" || !reflect.DeepEqual(e.Errors, []*Error{a, b}) || !strings.HasPrefix(e.Detail, "2 things") {
		t.Errorf("two: %+v", e)
	}
}
