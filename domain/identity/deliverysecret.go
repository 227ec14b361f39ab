package identity

import (
	"strings"

	"berth/domain/fault"
)

// DeliverySecretBytes is how many random bytes an enrolment token or the secret of a package's link holds: 160 bits.
const DeliverySecretBytes = JoinTokenBytes

// deliveryPrefix begins a secret of the delivery half; empty for any other.
func deliveryPrefix(p SecretPurpose) string {
	switch p {
	case EnrolmentToken:
		return "be_"
	case PackageLink:
		return "bp_"
	case PairingCode, JoinToken:
	}
	return ""
}

// FormatSecret writes DeliverySecretBytes random bytes as a secret of a purpose: be_ for an enrolment token and bp_ for a
// package's link, and 32 symbols of lower-case base32. Invalid enrolment_token_malformed, package_link_malformed for
// another number of bytes; secret_purpose_unknown.
func FormatSecret(purpose SecretPurpose, secret []byte) (string, error) {
	prefix := deliveryPrefix(purpose)
	if prefix == "" {
		return "", fault.New(fault.Invalid, "secret_purpose_unknown", "no secret of this purpose is written so")
	}
	if len(secret) != DeliverySecretBytes {
		return "", malformedSecret(purpose)
	}
	return prefix + joinTokenBase32.EncodeToString(secret), nil
}

// CanonicalSecret returns the text by which a secret is hashed: exactly what FormatSecret writes. Anything else is
// Invalid enrolment_token_malformed, package_link_malformed.
func CanonicalSecret(purpose SecretPurpose, text string) (string, error) {
	symbols, ok := strings.CutPrefix(text, deliveryPrefix(purpose))
	if !ok || len(symbols) != joinTokenSymbols || len(symbols) == len(text) ||
		strings.Trim(symbols, "abcdefghijklmnopqrstuvwxyz234567") != "" {
		return "", malformedSecret(purpose)
	}
	return text, nil
}

func malformedSecret(purpose SecretPurpose) error {
	return fault.New(fault.Invalid, string(purpose)+"_malformed", "this is no %s", strings.ReplaceAll(string(purpose), "_", " "))
}
