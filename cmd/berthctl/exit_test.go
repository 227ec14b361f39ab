package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"berth/cmd/internal/cli"
	"berth/domain/fault"
)

// Scripts tell by the exit code what sort of trouble there is; a person is told the cure, too.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
	}{
		{nil, 0}, {errors.New("x"), 1}, {errNotAsItMust, 1}, {cli.Usage("x"), 2}, {fault.New(fault.Invalid, "invalid_url", "x"), 2},
		{undone{errors.New("x")}, 3}, {undone{fault.New(fault.NotFound, "a", "x")}, 3}, {errors.Join(undone{errors.New("x")}, errNotAsItMust), 3},
		{fault.New(fault.Unavailable, "a", "x"), 3}, {fault.New(fault.Exhausted, "a", "x"), 3},
		{fault.New(fault.Unauthenticated, "a", "x"), 4}, {fault.New(fault.Forbidden, "a", "x"), 4}, {fault.New(fault.NotFound, "a", "x"), 5},
		{fmt.Errorf("in: %w", fault.New(fault.Conflict, "a", "x")), 6}, {fault.New(fault.AlreadyExists, "a", "x"), 6}, {fault.New(fault.Gone, "a", "x"), 6},
		{fault.New(fault.Invalid, "a", "x"), 1}, {fault.New(fault.Internal, "a", "x"), 1},
	} {
		if code := exitCode(&strings.Builder{}, c.err); code != c.code {
			t.Errorf("%v exits with %d, want %d", c.err, code, c.code)
		}
	}
	var said strings.Builder
	exitCode(&said, fmt.Errorf("the nodes: %w", fault.New(fault.Conflict, "a", "it is so").Curable("do that").Because(errors.New("why"))))
	if said.String() != "berthctl: the nodes: it is so: why; do that\n" {
		t.Errorf("it says %q", said.String())
	}
}
