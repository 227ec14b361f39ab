package sealingtest

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"berth/ports/sealing"
)

// Fake is a sealer on the standard library, for tests of use cases. Its recipients start with fake1 and open with a
// FakeKey. Its zero value is ready.
type Fake struct{}

var _ sealing.Sealer = Fake{}

const prefix = "fake1"

// FakeKey opens what a Fake sealed to it. Use NewFakeKey.
type FakeKey struct{ private *ecdh.PrivateKey }

var _ sealing.Opener = (*FakeKey)(nil)

// NewFakeKey makes a key.
func NewFakeKey() *FakeKey {
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // the machine's randomness does not fail
	}
	return &FakeKey{private}
}

// Recipient is what a Fake seals to.
func (k *FakeKey) Recipient() string {
	return prefix + hex.EncodeToString(k.private.PublicKey().Bytes())
}

// Check refuses what is no recipient of a FakeKey.
func (Fake) Check(recipient string) error {
	_, err := parse(recipient)
	return err
}

// Seal seals to a FakeKey.
func (Fake) Seal(recipient string, place sealing.Place, value []byte) ([]byte, error) {
	public, err := parse(recipient)
	if err != nil {
		return nil, err
	}
	frame, err := sealing.Frame(place, value)
	if err != nil {
		return nil, err
	}
	once := NewFakeKey().private
	aead, err := agreed(once, public)
	if err != nil {
		return nil, sealing.SealKeyInvalid().Because(err)
	}
	front := once.PublicKey().Bytes()
	return aead.Seal(front, make([]byte, aead.NonceSize()), frame, front), nil
}

// Open opens what a Fake sealed to the key.
func (k *FakeKey) Open(place sealing.Place, sealed []byte) ([]byte, error) {
	const front = 32
	if len(sealed) < front {
		return nil, sealing.SealedInvalid()
	}
	once, err := ecdh.X25519().NewPublicKey(sealed[:front])
	if err != nil {
		return nil, sealing.SealedInvalid().Because(err)
	}
	aead, err := agreed(k.private, once)
	if err != nil {
		return nil, sealing.SealedInvalid().Because(err)
	}
	frame, err := aead.Open(nil, make([]byte, aead.NonceSize()), sealed[front:], sealed[:front])
	if err != nil {
		return nil, sealing.SealedInvalid().Because(err)
	}
	return sealing.Unframe(place, frame)
}

func parse(recipient string) (*ecdh.PublicKey, error) {
	text, ok := strings.CutPrefix(recipient, prefix)
	raw, err := hex.DecodeString(text)
	if !ok || err != nil || text != strings.ToLower(text) {
		return nil, sealing.SealKeyInvalid()
	}
	public, err := ecdh.X25519().NewPublicKey(raw)
	if err != nil {
		return nil, sealing.SealKeyInvalid().Because(err)
	}
	return public, nil
}

// agreed returns the cipher of two halves; each pair is used once, so that its nonce may be zero.
func agreed(private *ecdh.PrivateKey, public *ecdh.PublicKey) (cipher.AEAD, error) {
	shared, err := private.ECDH(public)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(shared)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}
