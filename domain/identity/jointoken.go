package identity

import (
	"encoding/base32"
	"strings"

	"berth/domain/fault"
)

const (
	// JoinTokenBytes is how many random bytes a join token holds: 160 bits.
	JoinTokenBytes = 20

	joinTokenPrefix  = "bj_"
	joinTokenSymbols = 32
)

//nolint:gochecknoglobals // immutable
var joinTokenBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// FormatJoinToken writes JoinTokenBytes random bytes as a join token: bj_ and 32 symbols of lower-case base32. Another
// number of bytes is Invalid join_token_malformed.
func FormatJoinToken(secret []byte) (string, error) {
	if len(secret) != JoinTokenBytes {
		return "", malformedJoinToken()
	}
	return joinTokenPrefix + joinTokenBase32.EncodeToString(secret), nil
}

// CanonicalJoinToken returns the text by which a join token is hashed: exactly what FormatJoinToken writes, as programs
// hand it on and nobody types it. Anything else is Invalid join_token_malformed.
func CanonicalJoinToken(text string) (string, error) {
	symbols, ok := strings.CutPrefix(text, joinTokenPrefix)
	if !ok || len(symbols) != joinTokenSymbols {
		return "", malformedJoinToken()
	}
	for i := range len(symbols) {
		if c := symbols[i]; (c < 'a' || c > 'z') && (c < '2' || c > '7') {
			return "", malformedJoinToken()
		}
	}
	return text, nil
}

func malformedJoinToken() *fault.Error {
	return fault.New(fault.Invalid, "join_token_malformed", "a join token is bj_ and 32 of a-z and 2-7").At("join_token")
}
