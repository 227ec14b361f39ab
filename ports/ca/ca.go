// Package ca is how Berth has node certificates signed (I5). Who may have one, for which name and how long, is decided
// before; a certificate authority signs what it is ordered to, exactly, and for nobody else.
//
// Berth's own authority has its keys in the key management service, and which of them signs comes from the key ring
// (I6, I9). Another one, such as SPIRE or step-ca, has keys of its own and takes no notice of the Issuer.
package ca

import (
	"context"
	"crypto"
	"crypto/ed25519"

	"berth/domain/identity"
	"berth/ports/signer"
)

// SerialBytes is how long a serial number is: random, so that nobody guesses the next, and positive (RFC 5280 §4.1.2.2).
const SerialBytes = 16

// Issuer is the CA key that signs.
type Issuer struct {
	Ref  signer.KeyRef
	Root []byte // its root certificate, DER
}

// Order is a node certificate as it is to be.
type Order struct {
	Issuer   Issuer
	SPIFFEID identity.SPIFFEID // its one name
	Public   crypto.PublicKey  // ed25519.PublicKey, or *ecdsa.PublicKey on P-256 or P-384
	Serial   [SerialBytes]byte // random; its first two bits are no matter
	Validity identity.Validity // within the issuer's
}

// Issued is a certificate and what stands between it and a root; nothing where a root signed it. All of it is DER.
type Issued struct {
	Certificate []byte
	Chain       [][]byte
}

// Authority signs node certificates.
type Authority interface {
	// Certify signs what is ordered: a certificate that identity.ReadNodeCertificate reads, of a client and a server of
	// TLS. It is not idempotent and keeps nothing: a certificate whose answer was lost is one that nobody admitted.
	//
	// Invalid ca_order_refused: the order could not make such a certificate, or is not the issuer's to sign. Unavailable
	// ca_unavailable, with RetryAfter: the authority did not answer, refused access or has no such key, or the context
	// ended first, in which case the context's error is in the chain. Trying again is safe.
	Certify(ctx context.Context, o Order) (Issued, error)
}

// Root is a root certificate as it is to be.
type Root struct {
	Ref         signer.KeyRef
	Public      ed25519.PublicKey
	Name        string // the subject's common name, 1 to 64 bytes; no two roots share it
	TrustDomain string // whose nodes it signs for, and no others
	Serial      [SerialBytes]byte
	Validity    identity.Validity
}

// Roots makes an authority's keys into roots.
type Roots interface {
	// SelfSign returns the root certificate of a key that was made, DER: one that identity.NewSigningKey takes. Signing
	// again is harmless. Faults as of Certify.
	SelfSign(ctx context.Context, r Root) ([]byte, error)
}

// BuiltIn is an authority whose keys are in the key management service.
type BuiltIn interface {
	Authority
	Roots
}
