package httpapi

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/clock/clocktest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// repeating is an API whose writes may be repeated.
func repeating(t *testing.T, handle func() error) http.Handler {
	t.Helper()
	e := NewEngine(EngineOptions{
		Audience: "test", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: &counted{}, NewID: func() string { return "req_1" },
	})
	repeats := Repeats{
		Store: storetest.NewMemory(), Clock: clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		Scope: func(context.Context) string { return "operator/alice" },
	}
	api := NewAPI(e, Audience{Title: "Test", Prefix: "/t/v1", Version: "1"}, repeats.Middleware)
	huma.Register(api, Op("make", "POST", "/t/v1/things", "Make", Created, nil), func(ctx context.Context, in *thingIn) (*thingOut, error) {
		if err := handle(); err != nil {
			return nil, err
		}
		return fine(ctx, in)
	})
	return e
}

// A key is free again after what surely changed nothing. After a failure of which nobody knows what it changed it stays
// closed, and nothing is carried out a second time.
func TestKeyAfterAFailure(t *testing.T) {
	for _, c := range []struct {
		name   string
		failed error
		status int // of the repeat
	}{
		{"refused", fault.New(fault.Conflict, "x", "x"), 201},
		{"the database was away", store.Away(nil), 201},
		{"the request ended first", store.Ended(nil), 201},
		{"the commit was not answered", store.Unknown(nil), 409},
		{"a defect", errors.New("x"), 409},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := 0
			h := repeating(t, func() error {
				if runs++; runs == 1 {
					return c.failed
				}
				return nil
			})
			post := func() int {
				return do(h, "POST", "/t/v1/things", `{"name":"a","count":1}`, contract.HeaderIdempotencyKey, "k").Code
			}
			if first := post(); first < 400 {
				t.Fatalf("the first was answered %d", first)
			}
			if again := post(); again != c.status || runs > 1 && c.status == 409 {
				t.Errorf("the repeat was answered %d after %d runs, want %d", again, runs, c.status)
			}
		})
	}
}
