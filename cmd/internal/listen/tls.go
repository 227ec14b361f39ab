package listen

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// Certificate gives the certificate to serve with; it is asked at each handshake, so that a renewed one needs no restart.
type Certificate func() *tls.Certificate

// TLS serves clients that show no certificate.
func TLS(current Certificate) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return current(), nil },
	}
}

// PinnedTLS serves only clients that hold one of the keys whose SHA-256 (of the SPKI, in hex) is a pin (DESIGN §1). The
// key is all that counts: who signed the client's certificate, and until when, is not looked at.
func PinnedTLS(current Certificate, pins []string) *tls.Config {
	known := make([]string, 0, len(pins))
	for _, pin := range pins {
		known = append(known, strings.ToLower(pin))
	}
	c := TLS(current)
	c.MinVersion = tls.VersionTLS13
	c.ClientAuth = tls.RequireAnyClientCert
	c.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 && slices.Contains(known, Pin(state.PeerCertificates[0].RawSubjectPublicKeyInfo)) {
			return nil
		}
		return errors.New("the client's key is not pinned")
	}
	return c
}

// Pin is the SHA-256 of a public key (SPKI, DER) in lower-case hex.
func Pin(spki []byte) string {
	sum := sha256.Sum256(spki)
	return hex.EncodeToString(sum[:])
}
