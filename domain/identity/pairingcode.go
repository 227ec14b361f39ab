package identity

import (
	"encoding/base32"
	"strings"

	"berth/domain/fault"
)

const (
	// PairingCodeBytes is how many random bytes a pairing code holds: 80 bits.
	PairingCodeBytes = 10

	pairingSymbols = 16
	pairingGroup   = 4
	maxPairingText = 64

	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
)

//nolint:gochecknoglobals // immutable
var pairingBase32 = base32.NewEncoding(crockford).WithPadding(base32.NoPadding)

// FormatPairingCode writes PairingCodeBytes random bytes as a person reads them out: four groups of four symbols of
// Crockford's base32, joined by dashes. Another number of bytes is Invalid pairing_code_malformed.
func FormatPairingCode(secret []byte) (string, error) {
	if len(secret) != PairingCodeBytes {
		return "", malformedPairingCode()
	}
	symbols := pairingBase32.EncodeToString(secret)
	groups := make([]string, 0, pairingSymbols/pairingGroup)
	for i := 0; i < pairingSymbols; i += pairingGroup {
		groups = append(groups, symbols[i:i+pairingGroup])
	}
	return strings.Join(groups, "-"), nil
}

// CanonicalPairingCode returns the sixteen symbols that a typed code stands for, to be hashed: case, dashes and spaces
// do not count, O reads as 0, I and L as 1. Anything else is Invalid pairing_code_malformed.
func CanonicalPairingCode(typed string) (string, error) {
	if len(typed) > maxPairingText {
		return "", malformedPairingCode()
	}
	out := make([]byte, 0, pairingSymbols)
	for i := range len(typed) {
		switch c := upper(typed[i]); {
		case c == '-' || c == ' ':
		case c == 'O':
			out = append(out, '0')
		case c == 'I' || c == 'L':
			out = append(out, '1')
		case strings.IndexByte(crockford, c) >= 0:
			out = append(out, c)
		default:
			return "", malformedPairingCode()
		}
	}
	if len(out) != pairingSymbols {
		return "", malformedPairingCode()
	}
	return string(out), nil
}

func upper(c byte) byte {
	if c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return c
}

func malformedPairingCode() *fault.Error {
	return fault.New(fault.Invalid, "pairing_code_malformed",
		"a pairing code has 16 letters and digits in groups of four").At("pairing_code")
}
