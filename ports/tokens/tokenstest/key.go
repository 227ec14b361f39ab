package tokenstest

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Key signs JWS of any form.
type Key struct{ private ed25519.PrivateKey }

// KeyOf returns what signs by a private key.
func KeyOf(private ed25519.PrivateKey) Key { return Key{private} }

func seeded(what string, seed uint64) Key {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", what, seed))
	return Key{ed25519.NewKeyFromSeed(sum[:])}
}

// PublicKey returns the public half.
func (k Key) PublicKey() ed25519.PublicKey {
	return ed25519.PublicKey(k.private[ed25519.PrivateKeySize-ed25519.PublicKeySize:])
}

// Sign returns the compact JWS of any header and claims, also such as should be refused.
func (k Key) Sign(header, claims any) string { return k.SignRaw(encode(header), encode(claims)) }

// SignRaw is Sign for header and claims that need not be JSON.
func (k Key) SignRaw(header, claims []byte) string {
	input := segment(header) + "." + segment(claims)
	return input + "." + segment(ed25519.Sign(k.private, []byte(input)))
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("tokenstest: %v", err)) // a test gave what JSON cannot say
	}
	return text
}

func segment(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
