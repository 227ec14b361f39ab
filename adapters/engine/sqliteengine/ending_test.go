package sqliteengine_test

import (
	"context"
	"runtime"
	"testing"

	"berth/adapters/engine/sqliteengine"
	"berth/domain/fault"
	"berth/ports/engine"
)

// A caller that ends in the very moment in which its transaction begins leaves none open: whoever comes next writes.
func TestEndsWhileItBegins(t *testing.T) {
	t.Parallel()
	d, err := sqliteengine.Open(t.Context(), sqliteengine.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	saw := func(ctx context.Context, i int) error {
		return d.Saw(ctx, []engine.Seen{{Tenant: "t", Generation: 1, Version: int64(i)}})
	}
	for i := range 600 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for range i % 200 {
				runtime.Gosched()
			}
			cancel()
		}()
		if err := saw(ctx, i); err != nil && fault.SlugOf(err) != "request_ended" {
			t.Fatalf("round %d: %v", i, err)
		}
		<-ended
	}
	if err := saw(t.Context(), 600); err != nil {
		t.Fatal(err)
	}
}
