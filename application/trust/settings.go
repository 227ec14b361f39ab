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

	CertificateLife time.Duration    // the longest validity of a node certificate that is admitted
	Windows         identity.Windows // of keys for device tokens
	TokenLife       time.Duration    // of an operator token whose life was not said
	MaxTokenLife    time.Duration

	Delivery identity.Windows // of keys for desired states and packages, which clusters believe that are seldom told of others; zero: none are kept

	NodeLife         time.Duration // of a certificate that the control plane's own CA signs for a node
	CAPublishAhead   time.Duration // a root is in the trust bundle so long before it signs
	CASignFor        time.Duration // and signs so long
	JoinTokenLife    time.Duration // of a join token whose life was not said
	MaxJoinTokenLife time.Duration

	NonceBatch int // spent nonces that one sweep forgets in one transaction
}

// DefaultSettings are the figures of the design and generous ones beside them.
func DefaultSettings(trustDomain string) Settings {
	const day = 24 * time.Hour
	return Settings{
		TrustDomain: trustDomain, Skew: 5 * time.Second, CertificateLife: 398 * day,
		Windows: identity.Windows{
			PublishAhead: 10 * time.Minute, SignFor: 30 * day, VerifyAfter: 15 * time.Minute, Skew: tokens.Skew,
		},
		Delivery:  identity.Windows{PublishAhead: 90 * day, SignFor: 730 * day, VerifyAfter: 365 * day, Skew: tokens.Skew},
		TokenLife: 30 * day, MaxTokenLife: 365 * day, NonceBatch: 1000,
		NodeLife: day, CAPublishAhead: day, CASignFor: 90 * day, JoinTokenLife: time.Hour, MaxJoinTokenLife: day,
	}
}

// WindowsOf are the lengths of life of a purpose's keys. A root is believed for the life of the last certificate that it
// signed, and the skew of the clocks beyond.
func (s Settings) WindowsOf(purpose identity.KeyPurpose) identity.Windows {
	switch purpose {
	case identity.KeyForDesiredState, identity.KeyForPackages:
		return s.Delivery
	case identity.KeyForCA:
	case identity.KeyForDeviceTokens, identity.KeyForBackupManifests, identity.KeyForAuditCheckpoints:
		return s.Windows
	}
	return identity.Windows{
		PublishAhead: s.CAPublishAhead, SignFor: s.CASignFor, VerifyAfter: s.NodeLife + 2*tokens.Skew, Skew: tokens.Skew,
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
	if s.Delivery != (identity.Windows{}) {
		if err := s.Delivery.Check(24 * time.Hour); err != nil {
			return err
		}
	}
	if err := s.checkCA(); err != nil {
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

// checkCA wants a root to be published for a certificate's whole life before it signs: by then every node that has a
// certificate in force got its bundle when the root was in it.
func (s Settings) checkCA() error {
	const day = 24 * time.Hour
	return fault.All(
		within("node_certificate_life", s.NodeLife, 5*time.Minute, 7*day),
		within("ca_publish_ahead", s.CAPublishAhead, s.NodeLife, 90*day),
		within("ca_sign_for", s.CASignFor, 2*s.CAPublishAhead+time.Second, 10*365*day),
		within("max_join_token_life", s.MaxJoinTokenLife, time.Minute, day),
		within("join_token_life", s.JoinTokenLife, time.Minute, s.MaxJoinTokenLife),
	)
}

func within[N int | time.Duration](field string, n, least, most N) *fault.Error {
	if n >= least && n <= most {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_setting", "must lie between %v and %v", least, most).At(field)
}
