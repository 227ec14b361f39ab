package identity

import (
	"crypto/sha256"
	"encoding/hex"

	"berth/domain/fault"
)

// FingerprintOf returns the fingerprint of a certificate: the SHA-256 of its DER encoding in lower-case hex.
func FingerprintOf(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// CheckFingerprint accepts 64 lower-case hex digits and refuses anything else as Invalid fingerprint_malformed.
func CheckFingerprint(field, fingerprint string) *fault.Error {
	if validDigest(fingerprint) {
		return nil
	}
	return fault.New(fault.Invalid, "fingerprint_malformed", "a fingerprint is 64 lower-case hex digits").At(field)
}

func validDigest(text string) bool {
	if len(text) != hex.EncodedLen(sha256.Size) {
		return false
	}
	for i := range len(text) {
		c := text[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
