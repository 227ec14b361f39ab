package httpapi

import (
	"encoding/base64"
	"time"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// SigningKey is a signing key as the contract shows it: its public half and its windows.
func SigningKey(k identity.SigningKeyRecord) contract.SigningKey {
	out := contract.SigningKey{
		KID: k.KID, Purpose: string(k.Purpose), State: string(k.State), PublicKey: base64.RawURLEncoding.EncodeToString(k.PublicKey),
		NotBefore: k.NotBefore, SignUntil: k.SignUntil, VerifyUntil: k.VerifyUntil, CreatedAt: k.CreatedAt,
	}
	if !k.EndedAt.IsZero() {
		ended := k.EndedAt
		out.EndedAt = &ended
	}
	return out
}

// JWK is a signing key in the public key set (RFC 8037).
func JWK(k identity.SigningKeyRecord) contract.JWK {
	return contract.JWK{
		KTY: "OKP", CRV: "Ed25519", X: base64.RawURLEncoding.EncodeToString(k.PublicKey), KID: k.KID, Use: "sig", Alg: "EdDSA",
	}
}

// KeySetAge is how long a key set may be cached. A key is published ahead for longer than this.
const KeySetAge = 60 * time.Second
