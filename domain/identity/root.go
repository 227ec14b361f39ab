package identity

import (
	"crypto/ed25519"
	"crypto/x509"
	"time"

	"berth/domain/fault"
)

const (
	// Backdate is how far back certificates are dated, for verifiers whose clock is behind.
	Backdate = time.Minute

	// rootSlack is how much longer than its key a root is valid at either end: it is made before the key's windows are set
	// for good, and has to cover what a replica signs whose clock is behind. The windows are what ends a root's life.
	rootSlack = time.Hour
)

// Validity is that of an X.509 certificate, in whole seconds.
type Validity struct{ NotBefore, NotAfter time.Time }

func wholeSeconds(from, until time.Time) Validity {
	return Validity{from.UTC().Truncate(time.Second), until.UTC().Truncate(time.Second)}
}

// Root returns the validity of the root that is signed now for a new CA key, whether the key takes its turn at once or
// after PublishAhead.
func (w Windows) Root(now time.Time) Validity {
	return wholeSeconds(now.Add(-rootSlack), now.Add(w.PublishAhead+w.SignFor+w.VerifyAfter+rootSlack))
}

// Dates returns the validity of a node certificate that the CA key signs now: a life from now on, but never beyond the
// end of what is believed of the key.
func (r SigningKeyRecord) Dates(now time.Time, life time.Duration) Validity {
	until := now.Add(life)
	if until.After(r.VerifyUntil) {
		until = r.VerifyUntil
	}
	return wholeSeconds(now.Add(-Backdate), until)
}

// RenewAfter is when a node with a certificate of this validity begins to renew it: at half of its life (I5).
func (v Validity) RenewAfter() time.Time { return v.NotBefore.Add(v.NotAfter.Sub(v.NotBefore) / 2) }

// checkRoot wants a CA key's root to be that key's, to sign nodes' certificates only, and to cover the key's windows;
// and no other key to have one (I9).
func checkRoot(k NewKey, now, verifyUntil time.Time) *fault.Error {
	if k.Purpose != KeyForCA {
		return unless(len(k.Certificate) == 0, "root_certificate_invalid", "only a CA key has a root certificate", "certificate")
	}
	return unless(rootOf(k, now, verifyUntil), "root_certificate_invalid",
		"a CA key has a root certificate of its own that covers its windows and signs for no other CA", "certificate")
}

func rootOf(k NewKey, now, verifyUntil time.Time) bool {
	if len(k.Certificate) > MaxCertificate {
		return false
	}
	c, err := x509.ParseCertificate(k.Certificate)
	if err != nil {
		return false
	}
	public, ok := c.PublicKey.(ed25519.PublicKey)
	return ok && public.Equal(ed25519.PublicKey(k.PublicKey)) && c.CheckSignatureFrom(c) == nil &&
		c.MaxPathLenZero && c.MaxPathLen == 0 && c.KeyUsage&x509.KeyUsageCertSign != 0 &&
		!now.Before(c.NotBefore) && !c.NotAfter.Before(verifyUntil)
}
