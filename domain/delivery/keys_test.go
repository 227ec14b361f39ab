package delivery_test

import (
	"bytes"
	"crypto/ed25519"
)

type testKey struct {
	private ed25519.PrivateKey
	public  ed25519.PublicKey
}

func keyOf(seed byte) testKey {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return testKey{private, private.Public().(ed25519.PublicKey)} //nolint:forcetypeassert // it is one
}

func (k testKey) sign(message []byte) []byte { return ed25519.Sign(k.private, message) }
