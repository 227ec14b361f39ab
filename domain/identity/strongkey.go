package identity

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"

	"berth/domain/fault"
)

const strongKeys = "Ed25519, or ECDSA on P-256 or P-384"

// strongKey tells whether a public key is of a sort that nodes may have, and is worth something.
func strongKey(key crypto.PublicKey) bool {
	switch k := key.(type) {
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize && !smallOrder(k)
	case *ecdsa.PublicKey:
		return k.Curve == elliptic.P256() || k.Curve == elliptic.P384()
	}
	return false
}

// CheckTokenKey judges the public half of a key that verifies tokens, and its kid, as they are told to who verifies.
// Invalid: kid_malformed, public_key_malformed (not 32 bytes, or a point that anybody can sign for).
func CheckTokenKey(kid string, public []byte) error {
	return fault.All(
		unless(validKID(kid), "kid_malformed", "a kid is 1 to 128 of A-Z, a-z, 0-9, '-' and '_'", "kid"),
		unless(strongKey(ed25519.PublicKey(public)), "public_key_malformed", "an Ed25519 public key is 32 bytes, and a point of full order", "public_key"),
	)
}

// smallOrderPoints are the encodings of the eight points of Ed25519 whose order divides eight, without the sign of x.
// Anybody can sign for such a "key" without a private one.
//
//nolint:gochecknoglobals // an immutable table
var smallOrderPoints = map[string]bool{
	"0000000000000000000000000000000000000000000000000000000000000000": true,
	"0100000000000000000000000000000000000000000000000000000000000000": true,
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05": true,
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a": true,
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true, // not reduced, as the next
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f": true,
}

func smallOrder(key ed25519.PublicKey) bool {
	const sign = 0x80
	y := [ed25519.PublicKeySize]byte(key)
	y[len(y)-1] &^= sign
	return smallOrderPoints[hex.EncodeToString(y[:])]
}

// KeyDigest returns the SHA-256 of a public key's SPKI encoding (RFC 5280 §4.1), by which a key is recognised. Invalid
// public_key_malformed for a key that has none.
func KeyDigest(key crypto.PublicKey) ([32]byte, error) {
	spki, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return [32]byte{}, fault.New(fault.Invalid, "public_key_malformed", "the public key has no encoding").Because(err)
	}
	return sha256.Sum256(spki), nil
}
