// Package signer is how Berth signs with keys that it never holds: a key management service makes them, keeps them and
// signs; Berth stores public keys and references (I6, I7). All keys are Ed25519 (RFC 8032, PureEdDSA).
package signer

import (
	"context"
	"crypto/ed25519"
	"slices"
)

// Purpose is what a key may sign. One key serves one purpose (I9), so that a signature made for one thing can never be
// shown as another.
type Purpose string

// The purposes. Their spelling may be part of a key's name in a key management service and does not change.
const (
	DeviceToken     Purpose = "device-token"
	DesiredState    Purpose = "desired-state"
	Package         Purpose = "package"
	BackupManifest  Purpose = "backup-manifest"
	CA              Purpose = "ca"
	AuditCheckpoint Purpose = "audit-checkpoint"
)

// Purposes returns every purpose there is.
func Purposes() []Purpose {
	return []Purpose{DeviceToken, DesiredState, Package, BackupManifest, CA, AuditCheckpoint}
}

// Known reports whether p is one of Purposes.
func (p Purpose) Known() bool { return slices.Contains(Purposes(), p) }

// KeyRef names a key to the signer that made it: "file:device-token-4f…", a PKCS#11 URI, the ARN of a key. Others keep
// it and do not read it. It is no secret.
type KeyRef string

// MaxRef is the longest reference, in bytes, that a signer gives out or looks up.
const MaxRef = 512

// MaxMessage is the longest message in bytes that Sign takes. It is the least of what the services of I7 take whole (AWS
// KMS, message type RAW), and held to everywhere, so that what is signed in development can be signed in production. A
// larger document is signed by its digest.
const MaxMessage = 4096

// Every method below is safe for concurrent use and heeds its context. Where it fails, it fails with
//
//   - NotFound key_not_found: the reference is none of this signer's, is malformed, or its key was destroyed;
//   - Unavailable signer_unavailable: the service did not answer, refused access, or the context ended first, in which
//     case the context's error is in the chain. Trying again is safe.
//
// No error holds key material.

// Signer signs.
type Signer interface {
	// Sign returns the 64-byte Ed25519 signature of the message by the key that ref names. It neither keeps nor changes
	// the message. A message that is empty or longer than MaxMessage: Invalid message_size. Signing twice is harmless.
	Sign(ctx context.Context, ref KeyRef, message []byte) (signature []byte, err error)
}

// Keys makes and ends keys.
type Keys interface {
	// Create makes a key. When it returned without an error the key is durable and can sign. It is not idempotent: after
	// an error a key that nobody refers to may be left behind. An unknown purpose: Invalid unknown_purpose.
	Create(ctx context.Context, purpose Purpose) (ref KeyRef, public ed25519.PublicKey, err error)
	// Public returns the key's public half, of 32 bytes, for the caller to keep.
	Public(ctx context.Context, ref KeyRef) (ed25519.PublicKey, error)
	// Destroy ends the key for good: afterwards Sign and Public refuse it, restarts included. A service that deletes only
	// after a waiting period disables the key at once. Destroying a key that is destroyed already changes nothing and
	// succeeds, so that a lost answer can be asked for again; a reference that this signer cannot have given is refused.
	Destroy(ctx context.Context, ref KeyRef) error
}

// Pinger tells whether the signer can be reached.
type Pinger interface {
	// Ping returns nil where the service answers and its keys can be used, without signing anything.
	Ping(ctx context.Context) error
}

// KMS is all that a key management service offers; callers ask for the part that they need.
type KMS interface {
	Signer
	Keys
	Pinger
}
