package desired

import (
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// Settings are what operators tune.
type Settings struct {
	PublicURL string // of the API listener as agents and downloads see it: https://…

	MaxWait      time.Duration // the longest that a long poll waits
	Relook       time.Duration // how often a long poll reads without a hint
	PollInterval time.Duration // how often an agent asks where it does not wait

	PublishAttempts int // at one change, while others change the same deployment
	ReviewBatch     int // deployments that one sweep looks at, at most

	AgentTokenLife time.Duration // of a package's enrolment token
	PackageLife    time.Duration // of a package's link
}

// DefaultSettings are the figures of DESIGN §14 and generous ones beside them.
func DefaultSettings(publicURL string) Settings {
	return Settings{
		PublicURL: publicURL, MaxWait: 30 * time.Second, Relook: 5 * time.Second, PollInterval: 30 * time.Second,
		PublishAttempts: 8, ReviewBatch: 100, AgentTokenLife: 7 * 24 * time.Hour, PackageLife: 24 * time.Hour,
	}
}

// Check refuses settings that are out of bounds or do not fit one another, each as Invalid invalid_setting.
func (s Settings) Check() error {
	return fault.All(
		within("max_wait", s.MaxWait, time.Second, 30*time.Second),
		within("relook", s.Relook, 100*time.Millisecond, s.MaxWait),
		within("poll_interval", s.PollInterval, time.Second, time.Hour),
		within("publish_attempts", s.PublishAttempts, 1, 100),
		within("review_batch", s.ReviewBatch, 1, 10_000),
		within("agent_token_life", s.AgentTokenLife, delivery.MinPackageLife, delivery.MaxPackageLife),
		within("package_life", s.PackageLife, delivery.MinPackageLife, delivery.MaxPackageLife),
	)
}

func within[N int | time.Duration](field string, n, least, most N) *fault.Error {
	if n >= least && n <= most {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must lie between %v and %v", least, most).At(field)
}
