package access_test

import (
	"testing"
	"time"

	"berth/application/access"
	"berth/domain/fault"
)

// The defaults pass, and each setting that is out of bounds or does not fit is refused.
func TestSettings(t *testing.T) {
	t.Parallel()
	if err := access.DefaultSettings(audience).Check(); err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*access.Settings){
		"audience":                 func(s *access.Settings) { s.Audience = "http://api.example.test" },
		"pairing_life":             func(s *access.Settings) { s.PairingLife = 0 },
		"token_life":               func(s *access.Settings) { s.TokenLife = 10*time.Minute + time.Second },
		"limits.principals":        func(s *access.Settings) { s.Limits.Principals = 0 },
		"limits.routes":            func(s *access.Settings) { s.Limits.Routes = 0 },
		"limits.handles":           func(s *access.Settings) { s.Limits.Handles = 0 },
		"limits.principal_handles": func(s *access.Settings) { s.Limits.PrincipalHandles = s.Limits.Routes - 1 },
		"keep_revisions":           func(s *access.Settings) { s.KeepRevisions = 0 },
		"secret_retention":         func(s *access.Settings) { s.SecretRetention = 0 },
		"sweep_batch":              func(s *access.Settings) { s.SweepBatch = 0 },
		"poll_changes":             func(s *access.Settings) { s.PollChanges = 0 },
		"max_wait":                 func(s *access.Settings) { s.MaxWait = time.Minute },
		"relook":                   func(s *access.Settings) { s.Relook = s.MaxWait + 1 },
	} {
		s := access.DefaultSettings(audience)
		change(&s)
		f, ok := fault.As(s.Check())
		if !ok || f.Slug != "invalid_setting" || f.Field != field {
			t.Errorf("%s: %v", field, s.Check())
		}
	}
	s := access.DefaultSettings(audience)
	s.TokenLife -= time.Millisecond
	if fault.SlugOf(s.Check()) != "invalid_setting" {
		t.Error("a life that no token can say passes")
	}
}
