package trust

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
	"berth/domain/identity"
)

const (
	maxCertificate = 16 << 10 // bytes of PEM
	minRSA         = 2048     // bits
	maxRSA         = 8192     // bits: verifying costs grow with the cube
	minCurve       = 256      // bits
)

// certificate is what Berth keeps of a node certificate.
type certificate struct {
	fingerprint string
	name        string // the URI as it stands in the certificate
	notBefore   time.Time
	notAfter    time.Time
}

// readCertificate reads one PEM certificate and refuses what a node has no use for: another kind of certificate, a weak
// key, a validity that is over or longer than most, and more or fewer than one URI (X.509-SVID §2).
func readCertificate(text []byte, most time.Duration, now time.Time) (certificate, error) {
	der, err := oneBlock(text)
	if err != nil {
		return certificate{}, err
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return certificate{}, malformedCertificate("it does not parse").Because(err)
	}
	name, err := onlyURI(c)
	if err != nil {
		return certificate{}, err
	}
	if err := fault.All(checkUse(c), checkKey(c.PublicKey), checkSignature(c), checkLife(c, most, now)); err != nil {
		return certificate{}, err
	}
	return certificate{
		fingerprint: identity.FingerprintOf(der), name: name,
		notBefore: ident.Instant(c.NotBefore), notAfter: ident.Instant(c.NotAfter),
	}, nil
}

func certificateFault(slug, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, slug, "the certificate is refused: "+format, args...).At("certificate")
}

func malformedCertificate(detail string) *fault.Error {
	return certificateFault("certificate_malformed", "%s", detail)
}

// oneBlock takes exactly one PEM block: what stands before or behind it would be read by some and not by others.
func oneBlock(text []byte) ([]byte, error) {
	const begin = "-----BEGIN CERTIFICATE-----"
	if len(text) > maxCertificate {
		return nil, malformedCertificate("it is longer than 16 KiB")
	}
	text = bytes.TrimSpace(text)
	block, rest := pem.Decode(text)
	if block == nil || !bytes.HasPrefix(text, []byte(begin)) || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return nil, malformedCertificate("it is not one PEM block of the type CERTIFICATE")
	}
	return block.Bytes, nil
}

// onlyURI returns the text of the one URI among the alternative names, as it stands there: a URL type would have
// normalised it.
func onlyURI(c *x509.Certificate) (string, error) {
	const uriTag = 6 // RFC 5280 §4.2.1.6
	subjectAltName := asn1.ObjectIdentifier{2, 5, 29, 17}
	var uris []string
	for _, extension := range c.Extensions {
		if !extension.Id.Equal(subjectAltName) {
			continue
		}
		var names []asn1.RawValue
		if rest, err := asn1.Unmarshal(extension.Value, &names); err != nil || len(rest) > 0 {
			return "", malformedCertificate("its alternative names do not parse")
		}
		for _, n := range names {
			if n.Class == asn1.ClassContextSpecific && n.Tag == uriTag {
				uris = append(uris, string(n.Bytes))
			}
		}
	}
	if len(uris) != 1 {
		return "", certificateFault("certificate_names", "it names %d URIs, a node's has one", len(uris))
	}
	return uris[0], nil
}

// checkUse wants the certificate of a client, and none that may sign others.
func checkUse(c *x509.Certificate) *fault.Error {
	const signs = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	usages := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageAny}
	anyUse := len(c.ExtKeyUsage) == 0 && len(c.UnknownExtKeyUsage) == 0
	client := slices.ContainsFunc(c.ExtKeyUsage, func(u x509.ExtKeyUsage) bool { return slices.Contains(usages, u) })
	switch {
	case c.IsCA || c.KeyUsage&signs != 0:
		return certificateFault("certificate_kind", "it is one of a certificate authority")
	case c.KeyUsage != 0 && c.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return certificateFault("certificate_kind", "its key may not sign")
	case !anyUse && !client:
		return certificateFault("certificate_kind", "it is not one of a client")
	case len(c.UnhandledCriticalExtensions) > 0:
		return certificateFault("certificate_kind", "it has a critical extension that is not known")
	}
	return nil
}

func checkKey(key any) *fault.Error {
	strong := false
	switch k := key.(type) {
	case ed25519.PublicKey:
		strong = len(k) == ed25519.PublicKeySize
	case *ecdsa.PublicKey:
		strong = k.Curve.Params().BitSize >= minCurve
	case *rsa.PublicKey:
		strong = k.N.BitLen() >= minRSA && k.N.BitLen() <= maxRSA
	}
	if !strong {
		return certificateFault("certificate_key_weak",
			"its key is not Ed25519, ECDSA on P-256 or larger, or RSA of 2048 to 8192 bits")
	}
	return nil
}

func checkSignature(c *x509.Certificate) *fault.Error {
	switch c.SignatureAlgorithm { //nolint:exhaustive // what is not listed is refused
	case x509.PureEd25519, x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512,
		x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA,
		x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS:
		return nil
	}
	return certificateFault("certificate_signature_weak", "it is signed by %s", c.SignatureAlgorithm)
}

func checkLife(c *x509.Certificate, most time.Duration, now time.Time) *fault.Error {
	switch {
	case !c.NotBefore.Before(c.NotAfter) || !now.Before(c.NotAfter):
		return certificateFault("certificate_expired", "it ended on %s", c.NotAfter.UTC().Format(time.RFC3339))
	case c.NotAfter.Sub(c.NotBefore) > most:
		return certificateFault("certificate_life_too_long", "it is valid for longer than %s", most)
	}
	return nil
}
