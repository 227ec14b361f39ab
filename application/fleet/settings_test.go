package fleet_test

import (
	"testing"
	"time"

	"berth/application/fleet"
	"berth/domain/fault"
)

// The defaults fit together, and settings that are out of bounds or do not fit one another are refused by name.
func TestSettingsCheck(t *testing.T) {
	t.Parallel()
	if err := fleet.DefaultSettings("example.test").Check(); err != nil {
		t.Fatalf("the defaults are refused: %v", err)
	}
	for _, c := range []struct {
		field  string
		change func(*fleet.Settings)
	}{
		{"trust_domain", func(s *fleet.Settings) { s.TrustDomain = "" }},
		{"trust_domain", func(s *fleet.Settings) { s.TrustDomain = "Example.Test" }},
		{"lease.margin", func(s *fleet.Settings) { s.Lease.Margin = 0 }},
		{"lease.duration", func(s *fleet.Settings) { s.Lease.Duration = 0 }},
		{"deadlines.copy", func(s *fleet.Settings) { s.Deadlines.Copy = 0 }},
		{"drain_parallelism", func(s *fleet.Settings) { s.DrainParallelism = 0 }},
		{"drain_parallelism", func(s *fleet.Settings) { s.DrainParallelism = 1001 }},
		{"drain_retry", func(s *fleet.Settings) { s.DrainRetry = 0 }},
		{"queue_batch", func(s *fleet.Settings) { s.QueueBatch = 0 }},
		{"queue_batch", func(s *fleet.Settings) { s.QueueBatch = 1001 }},
		{"max_wait", func(s *fleet.Settings) { s.MaxWait = 31 * time.Second }},
		{"max_wait", func(s *fleet.Settings) { s.MaxWait, s.Relook = 0, time.Second }},
		{"relook", func(s *fleet.Settings) { s.Relook = 0 }},
		{"relook", func(s *fleet.Settings) { s.MaxWait, s.Relook = 2*time.Second, 3*time.Second }},
		{"deadlines.quiesce", func(s *fleet.Settings) { s.Deadlines.Quiesce = 2*s.Relook - 1 }},
		{"deadlines.copy", func(s *fleet.Settings) { s.Deadlines.Copy = 2*s.Relook - 1 }},
		{"deadlines.drain", func(s *fleet.Settings) { s.Deadlines.Drain = s.Lease.Duration - 1 }},
	} {
		s := fleet.DefaultSettings("example.test")
		c.change(&s)
		err := s.Check()
		e, ok := fault.As(err)
		if !ok || e.Kind != fault.Invalid {
			t.Errorf("%s: got %v", c.field, err)
			continue
		}
		named := e.Field == c.field
		for _, part := range e.Errors {
			named = named || part.Field == c.field
		}
		if !named {
			t.Errorf("%s is not named by %v", c.field, err)
		}
	}
}
