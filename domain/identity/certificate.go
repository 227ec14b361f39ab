package identity

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// MaxCertificate is the longest node certificate that is read, in bytes of DER: several times what a real one has.
const MaxCertificate = 8 << 10

// NodeCertificate is what a node's certificate says (I1).
type NodeCertificate struct {
	SPIFFEID    SPIFFEID
	Fingerprint string // as FingerprintOf
	NotBefore   time.Time
	NotAfter    time.Time
	PublicKey   crypto.PublicKey // ed25519.PublicKey, or *ecdsa.PublicKey on P-256 or P-384
}

// ReadNodeCertificate reads a certificate and refuses whatever a node's is not: it names exactly one SPIFFE id of a
// relay node, in exactly the spelling of ParseSPIFFEID, and nothing else; it is a client's, signs no others, and its key
// and signature are strong (I1, X.509-SVID §4). Whether it is valid now, and whose signature it bears, is for the caller
// to judge.
//
// All refusals are Invalid: certificate_malformed, certificate_names, certificate_spiffe_id, certificate_kind,
// certificate_key_weak, certificate_signature_weak, certificate_validity.
func ReadNodeCertificate(der []byte) (NodeCertificate, error) {
	if len(der) > MaxCertificate {
		return NodeCertificate{}, malformedCertificate("it is longer than 8 KiB")
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		return NodeCertificate{}, malformedCertificate("it does not parse").Because(err)
	}
	return NodeCertificateOf(c)
}

// NodeCertificateOf is ReadNodeCertificate of a certificate that was parsed already, such as that of a TLS peer.
func NodeCertificateOf(c *x509.Certificate) (NodeCertificate, error) {
	if len(c.Raw) == 0 || len(c.Raw) > MaxCertificate || c.Version != 3 {
		return NodeCertificate{}, malformedCertificate("it is not an X.509 v3 certificate of at most 8 KiB")
	}
	name, err := onlyName(c)
	if err != nil {
		return NodeCertificate{}, err
	}
	if err := fault.All(checkUse(c), checkCertificateKey(c), checkSignature(c), checkValidity(c)); err != nil {
		return NodeCertificate{}, err
	}
	id, err := ParseSPIFFEID(name)
	if err != nil {
		return NodeCertificate{}, certificateFault("certificate_spiffe_id",
			"the one URI that it names is not a relay node's SPIFFE id").Because(err)
	}
	return NodeCertificate{
		SPIFFEID: id, Fingerprint: FingerprintOf(c.Raw), PublicKey: c.PublicKey,
		NotBefore: ident.Instant(c.NotBefore), NotAfter: ident.Instant(c.NotAfter),
	}, nil
}

func certificateFault(slug, format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, slug, "the certificate is refused: "+format, args...).At("certificate")
}

func malformedCertificate(detail string) *fault.Error {
	return certificateFault("certificate_malformed", "%s", detail)
}

// onlyName returns the text of the one alternative name, as it stands there: a URL type would have normalised it, and
// would have left out names of other kinds.
func onlyName(c *x509.Certificate) (string, error) {
	const uriTag = 6 // RFC 5280 §4.2.1.6
	subjectAltName := asn1.ObjectIdentifier{2, 5, 29, 17}
	var names []asn1.RawValue
	for _, extension := range c.Extensions {
		if !extension.Id.Equal(subjectAltName) {
			continue
		}
		var more []asn1.RawValue
		if rest, err := asn1.Unmarshal(extension.Value, &more); err != nil || len(rest) > 0 {
			return "", malformedCertificate("its alternative names do not parse")
		}
		names = append(names, more...)
	}
	if len(names) != 1 {
		return "", certificateFault("certificate_names", "it has %d alternative names, a node's has one", len(names))
	}
	if n := names[0]; n.Class != asn1.ClassContextSpecific || n.Tag != uriTag || n.IsCompound {
		return "", certificateFault("certificate_names", "its alternative name is not a URI")
	}
	return string(names[0].Bytes), nil
}

// checkUse wants the certificate of a client, which may be that of a server too, and none that may sign others.
func checkUse(c *x509.Certificate) *fault.Error {
	const signs = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	known := !slices.ContainsFunc(c.ExtKeyUsage, func(u x509.ExtKeyUsage) bool {
		return u != x509.ExtKeyUsageClientAuth && u != x509.ExtKeyUsageServerAuth
	})
	switch {
	case c.IsCA || c.KeyUsage&signs != 0:
		return certificateFault("certificate_kind", "it is one of a certificate authority")
	case c.KeyUsage&x509.KeyUsageDigitalSignature == 0:
		return certificateFault("certificate_kind", "its key may not sign")
	case !slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth):
		return certificateFault("certificate_kind", "it is not one of a client")
	case !known || len(c.UnknownExtKeyUsage) > 0:
		return certificateFault("certificate_kind", "it is for more than TLS")
	case len(c.UnhandledCriticalExtensions) > 0:
		return certificateFault("certificate_kind", "it has a critical extension that is not known")
	}
	return nil
}

func checkCertificateKey(c *x509.Certificate) *fault.Error {
	if strongKey(c.PublicKey) {
		return nil
	}
	return certificateFault("certificate_key_weak", "its key is not %s", strongKeys)
}

// checkSignature refuses what could have been forged; a node's certificate may be signed by an RSA key all the same, as
// that costs nobody more than one verification with a small exponent.
func checkSignature(c *x509.Certificate) *fault.Error {
	switch c.SignatureAlgorithm { //nolint:exhaustive // what is not listed is refused
	case x509.PureEd25519, x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512,
		x509.SHA256WithRSA, x509.SHA384WithRSA, x509.SHA512WithRSA,
		x509.SHA256WithRSAPSS, x509.SHA384WithRSAPSS, x509.SHA512WithRSAPSS:
		return nil
	}
	return certificateFault("certificate_signature_weak", "it is signed by %s", c.SignatureAlgorithm)
}

func checkValidity(c *x509.Certificate) *fault.Error {
	if c.NotBefore.Before(c.NotAfter) {
		return nil
	}
	return certificateFault("certificate_validity", "its validity ends before it begins")
}
