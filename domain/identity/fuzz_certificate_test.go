package identity_test

import (
	"bytes"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/identity"
)

// Whatever is read as a node's certificate names that node, byte for byte, and is refused as Invalid otherwise.
func FuzzReadNodeCertificate(f *testing.F) {
	f.Add(certified(f, nodeKey(), nil))
	f.Add(certified(f, &curveKey(f, elliptic.P256()).PublicKey, nil))
	f.Add(certified(f, nodeKey(), names("6="+n1, "2=n1.berth.example")))
	f.Add(certified(f, nodeKey(), names("6=", "6=\xff")))
	f.Fuzz(func(t *testing.T, der []byte) {
		got, err := identity.ReadNodeCertificate(der)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(slugOfFirst(err), "certificate_") {
				t.Errorf("refused with %v", err)
			}
			return
		}
		if !bytes.Contains(der, []byte(got.SPIFFEID.String())) || got.Fingerprint != identity.FingerprintOf(der) || !got.NotBefore.Before(got.NotAfter) {
			t.Errorf("read as %+v", got)
		}
	})
}

// slugOfFirst is the slug of a refusal, or of its first part where it has several.
func slugOfFirst(err error) string {
	if f, ok := fault.As(err); ok && len(f.Errors) > 0 {
		return f.Errors[0].Slug
	}
	return fault.SlugOf(err)
}

// Whatever is read as a certificate request asks for nothing but a certificate for a key whose signature it bears.
func FuzzReadCertificateRequest(f *testing.F) {
	f.Add(request(f, privateKey(), x509.CertificateRequest{}))
	f.Add(request(f, curveKey(f, elliptic.P256()), x509.CertificateRequest{}))
	f.Add(request(f, privateKey(), x509.CertificateRequest{DNSNames: []string{"n1"}}))
	f.Add([]byte("-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := identity.ReadCertificateRequest(text)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fault.SlugOf(err), "csr_") {
				t.Errorf("%q: refused with %v", text, err)
			}
			return
		}
		block, _ := pem.Decode(text)
		r, err := x509.ParseCertificateRequest(block.Bytes)
		if err != nil || r.CheckSignature() != nil || len(r.Extensions) > 0 || len(r.Subject.Names) > 1 {
			t.Errorf("%q was read", text)
		}
		if digest, err := identity.KeyDigest(got.PublicKey); err != nil || digest != got.KeyDigest {
			t.Errorf("%q: another key", text)
		}
	})
}
