package identity

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

const (
	// MaxExternalRoots is how many roots of other CAs are believed at a time: a few CAs, each with the next one in line.
	MaxExternalRoots = 16

	leastRSA, mostRSA = 2048, 8192 // bits
	leastExponent     = 65537
)

// ExternalRoot is the certificate of a CA outside Berth whose node certificates operators admit (I5).
type ExternalRoot struct {
	Certificate []byte // DER
	Fingerprint string // as FingerprintOf
	NotAfter    time.Time

	key [32]byte // as KeyDigest
}

// KID is what the root is called beside Berth's own: "external-" and the first 16 digits of its fingerprint.
func (r ExternalRoot) KID() string { return "external-" + r.Fingerprint[:16] }

// ReadExternalRoots reads the certificates of other CAs: PEM blocks of the type CERTIFICATE and nothing else, since what
// is passed over in silence is a root that an operator believes to be in force. Each is a CA's that may sign
// certificates, with a strong key, has not ended, and stands there once; one whose time has yet to come is published
// ahead of it. Who names an intermediate CA believes that one and no other that its root signed.
//
// All refusals are Invalid: external_roots_malformed (also none at all), external_roots_too_many, and of one of them
// external_root_kind, external_root_key_weak, external_root_ended, external_root_repeated.
func ReadExternalRoots(text []byte, now time.Time) ([]ExternalRoot, error) {
	var out []ExternalRoot
	for rest := bytes.TrimSpace(text); len(rest) > 0; {
		der, after, ok := NextBlock("CERTIFICATE", rest)
		if !ok {
			return nil, notCertificates()
		}
		root, err := readExternalRoot(len(out)+1, der, now)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o ExternalRoot) bool { return o.Fingerprint == root.Fingerprint }) {
			return nil, externalRootFault("external_root_repeated", "certificate %d stands there before", len(out)+1)
		}
		if out = append(out, root); len(out) > MaxExternalRoots {
			return nil, externalRootFault("external_roots_too_many", "there are more than %d", MaxExternalRoots).
				Curable("take out those that sign for no node any more")
		}
		rest = bytes.TrimSpace(after)
	}
	if len(out) == 0 {
		return nil, externalRootFault("external_roots_malformed", "there is none")
	}
	return out, nil
}

func externalRootFault(slug, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, slug, "the roots of other CAs are refused: "+format, args...)
}

func notCertificates() error {
	return externalRootFault("external_roots_malformed", "there is something else than PEM blocks of the type CERTIFICATE").
		Curable("write each root as one CERTIFICATE block, with nothing between them")
}

func readExternalRoot(nth int, der []byte, now time.Time) (ExternalRoot, error) {
	if len(der) > MaxCertificate {
		return ExternalRoot{}, externalRootFault("external_roots_malformed", "certificate %d is longer than 8 KiB", nth)
	}
	c, err := x509.ParseCertificate(der)
	switch {
	case err != nil:
		return ExternalRoot{}, externalRootFault("external_roots_malformed", "certificate %d does not parse", nth).Because(err)
	case !signsCertificates(c):
		return ExternalRoot{}, externalRootFault("external_root_kind", "certificate %d is not one of a CA that may sign others", nth)
	case !strongAuthority(c.PublicKey):
		return ExternalRoot{}, externalRootFault("external_root_key_weak",
			"the key of certificate %d is not Ed25519, ECDSA on P-256, P-384 or P-521, or RSA of %d to %d bits", nth, leastRSA, mostRSA)
	case !c.NotBefore.Before(c.NotAfter) || !now.Before(c.NotAfter):
		return ExternalRoot{}, externalRootFault("external_root_ended", "certificate %d ended at %s", nth, c.NotAfter.UTC().Format(time.RFC3339)).
			Curable("take it out")
	}
	key, err := KeyDigest(c.PublicKey)
	if err != nil {
		return ExternalRoot{}, err
	}
	return ExternalRoot{
		Certificate: bytes.Clone(c.Raw), Fingerprint: FingerprintOf(c.Raw), NotAfter: ident.Instant(c.NotAfter), key: key,
	}, nil
}

// signsCertificates wants what verifiers of a chain want of its CAs (RFC 5280 §6.1.4).
func signsCertificates(c *x509.Certificate) bool {
	return c.Version == 3 && c.BasicConstraintsValid && c.IsCA && len(c.UnhandledCriticalExtensions) == 0 &&
		(c.KeyUsage == 0 || c.KeyUsage&x509.KeyUsageCertSign != 0)
}

// strongAuthority is strongKey for CAs, which have RSA keys and P-521 too: they cost whoever verifies no more.
func strongAuthority(key crypto.PublicKey) bool {
	switch k := key.(type) {
	case ed25519.PublicKey, *ecdsa.PublicKey:
		e, isEC := k.(*ecdsa.PublicKey)
		return strongKey(key) || isEC && e.Curve == elliptic.P521()
	case *rsa.PublicKey:
		return k.N.BitLen() >= leastRSA && k.N.BitLen() <= mostRSA && k.E >= leastExponent && k.E%2 == 1
	}
	return false
}

// Beside returns those of the roots of other CAs that are believed at an instant beside the ring's own: such as have not
// ended meanwhile. What is believed of a key of the ring the ring alone says, so that no file brings back a key that was
// found compromised.
func (r *KeyRing) Beside(roots []ExternalRoot, now time.Time) []ExternalRoot {
	var out []ExternalRoot
	for _, root := range roots {
		if now.Before(root.NotAfter) && !r.has(root.key) {
			out = append(out, root)
		}
	}
	return out
}

func (r *KeyRing) has(digest [32]byte) bool {
	return slices.ContainsFunc(r.keys, func(k *SigningKey) bool {
		own, err := KeyDigest(ed25519.PublicKey(k.record.PublicKey))
		return err == nil && own == digest
	})
}
