package pgstore_test

import (
	"bytes"
	"regexp"
	"sync"
	"testing"

	"berth/migrations"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// clock are the ways to ask Postgres for the time.
var clock = regexp.MustCompile(`(?i)\b(now\s*\(|current_(date|time|timestamp)\b|local(time|timestamp)\b|` +
	`(clock|statement|transaction)_timestamp|timeofday|pg_postmaster_start_time|timestamptz?\b|'(now|today|tomorrow|yesterday)')`)

// A database whose clock is off is none the worse: nothing that is sent to it, and no step of its schema, asks it for the
// time. All that the laws of the port come to is looked at.
func TestClockIsNeverAsked(t *testing.T) {
	t.Parallel()
	body := sqlOf(t, migrations.Postgres, "postgres")
	if found := clock.FindString(body); found != "" {
		t.Errorf("the schema asks for the time: %s", found)
	}
	for _, asks := range []string{"SELECT now()", "DEFAULT CURRENT_TIMESTAMP", "select clock_timestamp()", "at timestamptz"} {
		if !clock.MatchString(asks) {
			t.Fatalf("%q is not noticed", asks)
		}
	}
	dsn := database(t)
	p, through := between(t, dsn)
	var mu sync.Mutex
	asked, found := 0, map[string]bool{}
	p.watch(hooks{asked: func(chunk []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		asked += bytes.Count(chunk, []byte("SELECT"))
		if at := clock.FindIndex(chunk); at != nil {
			found[string(chunk[max(0, at[0]-60):min(len(chunk), at[1]+60)])] = true
		}
		return chunk
	}})
	t.Run("laws", func(t *testing.T) {
		storetest.Run(t, func(tb testing.TB) store.Store { return open(tb, schema(tb, through)) })
	})
	mu.Lock()
	defer mu.Unlock()
	if asked < 1000 {
		t.Errorf("only %d questions were seen", asked)
	}
	for text := range found {
		t.Errorf("the database is asked for the time: %q", text)
	}
}
