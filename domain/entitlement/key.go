package entitlement

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"

	"berth/domain/fault"
	"berth/domain/ident"
)

// The form of a license key in clear text: bl_<license id>_<base32 of the secret> (DESIGN §14).
const (
	keyPrefix = "bl_"
	// SecretSize is how many random bytes a key is made of (E1).
	SecretSize = 16
	// PepperSize is how many bytes the pepper has that keys are hashed under.
	PepperSize = 32

	secretText = (SecretSize*8 + 4) / 5 // characters
	maxKey     = len(keyPrefix) + ident.MaxName + 1 + secretText
)

// base32Lower has the letters of RFC 4648 in lower case: nothing in a key is mistaken for anything else when it is read
// out, and a double click selects all of it.
//
//nolint:gochecknoglobals // an immutable value
var base32Lower = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// FormatKey returns a license's key in clear text, of SecretSize random bytes.
func FormatKey(license string, secret []byte) string {
	return keyPrefix + license + "_" + base32Lower.EncodeToString(secret)
}

// ParseKey returns the id of the license that a clear key claims to be of. Nothing is proved by it: Matches does that.
// Fault: Invalid license_key_malformed, which repeats nothing of the text.
func ParseKey(text string) (license string, err error) {
	malformed := fault.New(fault.Invalid, "license_key_malformed", "this is not a license key")
	if len(text) > maxKey {
		return "", malformed
	}
	body, ok := strings.CutPrefix(text, keyPrefix)
	at := strings.LastIndexByte(body, '_')
	if !ok || at < 0 || !made(body[:at]) || !isSecret(body[at+1:]) {
		return "", malformed
	}
	return body[:at], nil
}

// isSecret accepts the one text that stands for SecretSize bytes; decoding alone would also take it with other last bits.
func isSecret(text string) bool {
	if len(text) != secretText {
		return false
	}
	secret, err := base32Lower.DecodeString(text)
	return err == nil && base32Lower.EncodeToString(secret) == text
}

// made tells ids of the control plane's own making: a prefix, '_' and a sortable part.
func made(id string) bool {
	if id == "" || len(id) > ident.MaxName {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// HashKey returns what is kept of a clear key: HMAC-SHA256 under the pepper (E1). Any text has a hash, so that a wrong
// key costs what a right one does.
func HashKey(pepper []byte, clear string) [32]byte {
	mac := hmac.New(sha256.New, pepper)
	_, _ = mac.Write([]byte(clear)) // a hash never fails to write
	return [32]byte(mac.Sum(nil))
}

// Matches says, in constant time, whether a hash is that of the license's key (E3).
func (l *License) Matches(hash [32]byte) bool {
	return subtle.ConstantTimeCompare(l.record.KeyHash[:], hash[:]) == 1
}
