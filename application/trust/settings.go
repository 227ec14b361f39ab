package trust

import (
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/tokens"
)

// Settings are what operators tune.
type Settings struct {
	TrustDomain string        // of the nodes' SPIFFE ids (I1)
	Skew        time.Duration // between the clocks of the ingress and of the control plane, in either direction

	CertificateLife time.Duration // the longest validity of a node certificate that is admitted
	Windows         identity.Windows
	TokenLife       time.Duration // of an operator token whose life was not said
	MaxTokenLife    time.Duration
	NonceBatch      int // spent nonces that one sweep forgets in one transaction
}

// DefaultSettings are the figures of the design and generous ones beside them.
func DefaultSettings(trustDomain string) Settings {
	const day = 24 * time.Hour
	return Settings{
		TrustDomain: trustDomain, Skew: 5 * time.Second, CertificateLife: 398 * day,
		Windows: identity.Windows{
			PublishAhead: 10 * time.Minute, SignFor: 30 * day, VerifyAfter: 15 * time.Minute, Skew: tokens.Skew,
		},
		TokenLife: 30 * day, MaxTokenLife: 365 * day, NonceBatch: 1000,
	}
}

// Check refuses settings that are out of bounds or do not fit one another, each as Invalid: spiffe_id_malformed,
// key_windows_invalid, invalid_setting.
func (s Settings) Check() error {
	if _, err := identity.RelayID(s.TrustDomain, "region", "node"); err != nil {
		return err
	}
	if err := s.Windows.Check(tokens.MaxTokenLifetime); err != nil {
		return err
	}
	return fault.All(
		within("skew", s.Skew, 0, time.Minute),
		within("certificate_life", s.CertificateLife, time.Hour, 398*24*time.Hour),
		within("max_token_life", s.MaxTokenLife, time.Minute, 10*365*24*time.Hour),
		within("token_life", s.TokenLife, time.Minute, s.MaxTokenLife),
		within("nonce_batch", s.NonceBatch, 1, 10_000),
	)
}

func within[N int | time.Duration](field string, n, least, most N) *fault.Error {
	if n >= least && n <= most {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must lie between %v and %v", least, most).At(field)
}
