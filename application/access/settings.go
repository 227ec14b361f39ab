package access

import (
	"strings"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/ports/tokens"
)

// MaxPoll is how many tenants one poll may name.
const MaxPoll = 2000

// Settings are what operators tune.
type Settings struct {
	// Audience is what a device's assertion must name as its aud: the URL of the token endpoint as devices see it.
	Audience string

	PairingLife time.Duration // how long a pairing code can be used
	TokenLife   time.Duration // of device tokens, in whole seconds; at most 10 minutes (A7)
	Limits      authorization.Limits

	KeepRevisions   int           // how many revisions back a delta reaches (A3)
	SecretRetention time.Duration // how long a code that expired is still told apart from one that never was
	SweepBatch      int           // tenants that one sweep compacts, and secrets that it forgets in one transaction, at most

	PollChanges int           // changes in one poll's answer, at most; what goes beyond is told as snapshot_needed
	MaxWait     time.Duration // the longest that a long poll waits
	Relook      time.Duration // how often a long poll reads without a hint
}

// DefaultSettings are the figures of DESIGN §14 and generous ones beside them.
func DefaultSettings(audience string) Settings {
	return Settings{
		Audience: audience, PairingLife: 10 * time.Minute, TokenLife: tokens.MaxTokenLifetime,
		Limits: authorization.DefaultLimits(), KeepRevisions: 1000, SecretRetention: 24 * time.Hour, SweepBatch: 200,
		PollChanges: authorization.MaxDelta, MaxWait: 30 * time.Second, Relook: 5 * time.Second,
	}
}

// Check refuses settings that are out of bounds or do not fit one another, each as Invalid invalid_setting.
func (s Settings) Check() error {
	return fault.All(
		unless(strings.HasPrefix(s.Audience, "https://") && len(s.Audience) <= tokens.MaxSize/4, "audience",
			"is the https URL of the token endpoint"),
		within("pairing_life", s.PairingLife, time.Minute, time.Hour),
		within("token_life", s.TokenLife, time.Minute, tokens.MaxTokenLifetime),
		unless(s.TokenLife%time.Second == 0, "token_life", "is in whole seconds, as tokens say it"),
		within("limits.principals", s.Limits.Principals, 1, 1_000_000),
		within("limits.routes", s.Limits.Routes, 1, 1_000_000),
		within("limits.handles", s.Limits.Handles, 1, 1_000_000),
		unless(s.Limits.PrincipalHandles >= s.Limits.Routes, "limits.principal_handles",
			"is not below limits.routes: a device is given a handle for every route"),
		// A revocation is one revision and has to fit into one delta: the principal and all of its handles.
		within("limits.principal_handles", s.Limits.PrincipalHandles, 1, authorization.MaxDelta-1),
		within("keep_revisions", s.KeepRevisions, 1, 1_000_000),
		within("secret_retention", s.SecretRetention, time.Minute, 365*24*time.Hour),
		within("sweep_batch", s.SweepBatch, 1, 1000),
		within("poll_changes", s.PollChanges, 1, 100_000),
		within("max_wait", s.MaxWait, time.Second, 30*time.Second),
		within("relook", s.Relook, 100*time.Millisecond, s.MaxWait),
	)
}

func within[N int | time.Duration](field string, n, least, most N) *fault.Error {
	if n >= least && n <= most {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must lie between %v and %v", least, most).At(field)
}

func unless(ok bool, field, detail string) *fault.Error {
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "%s", detail).At(field)
}
