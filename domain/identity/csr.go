package identity

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"

	"berth/domain/fault"
)

// MaxCSR is the longest certificate request that is read, in bytes of PEM.
const MaxCSR = 8 << 10

// CertificateRequest is what a certificate request says: a key, and that whoever sent it has its private half. The name
// in the certificate comes from the node's record and never from here (I5).
type CertificateRequest struct {
	PublicKey crypto.PublicKey // ed25519.PublicKey, or *ecdsa.PublicKey on P-256 or P-384
	KeyDigest [32]byte         // of PublicKey
}

// ReadCertificateRequest reads a PKCS #10 request in PEM, one block and nothing else, and refuses whatever asks for more
// than a certificate for its key: its subject is empty or one common name, which is ignored, and it has no alternative
// name, no extension and no other attribute, so that nothing it asks for can ever be copied. Its signature is verified.
//
// All refusals are Invalid: csr_malformed, csr_key_weak, csr_subject, csr_extensions, csr_attributes,
// csr_signature_invalid.
func ReadCertificateRequest(text []byte) (CertificateRequest, error) {
	if len(text) > MaxCSR {
		return CertificateRequest{}, malformedRequest("it is longer than 8 KiB")
	}
	der, ok := OnlyBlock("CERTIFICATE REQUEST", text)
	if !ok {
		return CertificateRequest{}, malformedRequest("it is not one PEM block of the type CERTIFICATE REQUEST")
	}
	r, err := x509.ParseCertificateRequest(der)
	if err != nil {
		return CertificateRequest{}, malformedRequest("it does not parse").Because(err)
	}
	// The key first: a signature is verified at a price that whoever sent the key could set.
	if !strongKey(r.PublicKey) {
		return CertificateRequest{}, requestFault("csr_key_weak", "its key is not "+strongKeys)
	}
	if err := checkRequested(r); err != nil {
		return CertificateRequest{}, err
	}
	if !soundAlgorithm(r.SignatureAlgorithm) || r.CheckSignature() != nil {
		return CertificateRequest{}, requestFault("csr_signature_invalid", "it is not signed by its own key")
	}
	digest, err := KeyDigest(r.PublicKey)
	if err != nil {
		return CertificateRequest{}, err
	}
	return CertificateRequest{PublicKey: r.PublicKey, KeyDigest: digest}, nil
}

// OnlyBlock takes exactly one PEM block of a type and returns what it holds: what stands before or behind it, or in
// headers, would be read by some and not by others. White space around it is no matter.
func OnlyBlock(kind string, text []byte) (der []byte, ok bool) {
	text = bytes.TrimSpace(text)
	block, rest := pem.Decode(text)
	begins := bytes.HasPrefix(text, []byte("-----BEGIN "+kind+"-----"))
	if block == nil || !begins || len(block.Headers) > 0 || len(bytes.TrimSpace(rest)) > 0 {
		return nil, false
	}
	return block.Bytes, true
}

// NextBlock takes the PEM block of a type that a text begins with, and returns what it holds and what follows it. A decoder
// goes on to the next block where one is garbled: it is shown one at a time, so that none is passed over in silence.
func NextBlock(kind string, text []byte) (der, rest []byte, ok bool) {
	begin, end := "-----BEGIN "+kind+"-----", "-----END "+kind+"-----"
	one, rest, whole := bytes.Cut(text, []byte(end))
	if !whole || !bytes.HasPrefix(one, []byte(begin)) || bytes.Count(one, []byte("-----BEGIN")) != 1 {
		return nil, nil, false
	}
	block, _ := pem.Decode(append(bytes.Clone(one), end...))
	if block == nil || len(block.Headers) > 0 {
		return nil, nil, false
	}
	return block.Bytes, rest, true
}

func requestFault(slug, detail string) *fault.Error {
	return fault.New(fault.Invalid, slug, "the certificate request is refused: %s", detail).At("csr")
}

func malformedRequest(detail string) *fault.Error { return requestFault("csr_malformed", detail) }

func soundAlgorithm(a x509.SignatureAlgorithm) bool {
	switch a { //nolint:exhaustive // what is not listed is refused
	case x509.PureEd25519, x509.ECDSAWithSHA256, x509.ECDSAWithSHA384, x509.ECDSAWithSHA512:
		return true
	}
	return false
}

// requestInfo is CertificationRequestInfo (RFC 2986 §4.1), read so far that nothing in it can hide.
type requestInfo struct {
	Version    int
	Subject    asn1.RawValue
	PublicKey  asn1.RawValue
	Attributes []asn1.RawValue `asn1:"tag:0"`
}

// checkRequested reads the attributes by itself: the standard library leaves out those that it does not know.
func checkRequested(r *x509.CertificateRequest) error {
	var info requestInfo
	if rest, err := asn1.Unmarshal(r.RawTBSCertificateRequest, &info); err != nil || len(rest) > 0 || info.Version != 0 {
		return malformedRequest("it does not parse")
	}
	if len(r.Extensions) > 0 {
		return requestFault("csr_extensions", "it asks for extensions, such as alternative names; the control plane sets them")
	}
	if len(info.Attributes) > 0 {
		return requestFault("csr_attributes", "it has attributes; a node's has none")
	}
	commonName := asn1.ObjectIdentifier{2, 5, 4, 3}
	names := r.Subject.Names
	if len(names) > 1 || len(names) == 1 && !names[0].Type.Equal(commonName) {
		return requestFault("csr_subject", "its subject is more than a common name")
	}
	return nil
}
