package identity

import (
	"strings"
	"unicode/utf8"

	"berth/domain/fault"
)

// MaxTarget is the longest request target that is accepted, in bytes.
const MaxTarget = 4096

// CheckTarget accepts a request target that every server reads the same way (I2) and refuses any other as Invalid
// target_ambiguous. Accepted is the origin form of RFC 9112 made of RFC 3986's characters, up to MaxTarget bytes, and of
// it only what has one reading: no empty, "." or ".." segment, no ';', every escape well formed, the whole UTF-8 once
// decoded, and no escape of a control character. In the path an escape never stands for a character that needs none
// (so that "%2e" is refused) nor for one that would split it: / \ % ? # ;.
//
// The raw text is judged, not a parsed form. Package targets holds the corpus that every listener is tested with.
func CheckTarget(raw string) error {
	if f := checkTarget(raw); f != nil {
		return f
	}
	return nil
}

func checkTarget(raw string) *fault.Error {
	if len(raw) > MaxTarget {
		return ambiguous("the request target has more than 4096 bytes")
	}
	if !strings.HasPrefix(raw, "/") {
		return ambiguous("the request target is not in origin form")
	}
	path, query, _ := strings.Cut(raw, "?")
	if f := checkSegments(path[1:]); f != nil {
		return f
	}
	if f := checkBytes(path, pathByte, pathEscape); f != nil {
		return f
	}
	return checkBytes(query, queryByte, queryEscape)
}

func ambiguous(detail string) *fault.Error {
	return fault.New(fault.Invalid, "target_ambiguous", "%s", detail)
}

// checkSegments looks at the plain text only: an escaped dot never gets past pathEscape.
func checkSegments(path string) *fault.Error {
	for {
		segment, rest, more := strings.Cut(path, "/")
		switch {
		case segment == "" && more:
			return ambiguous("the path has an empty segment")
		case segment == "." || segment == "..":
			return ambiguous("the path has a dot segment")
		case !more:
			return nil
		}
		path = rest
	}
}

func checkBytes(text string, plain, escaped func(byte) bool) *fault.Error {
	high := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '%' {
			if !plain(c) {
				return ambiguous("the request target holds a character that must be escaped or is not allowed")
			}
			continue
		}
		value, ok := escapeAt(text, i)
		if !ok {
			return ambiguous("the request target holds a broken escape")
		}
		if !escaped(value) {
			return ambiguous("the request target escapes a character that may not be escaped")
		}
		high = high || value >= utf8.RuneSelf
		i += 2
	}
	if high && !decodesToUTF8(text) {
		return ambiguous("the request target does not decode to UTF-8")
	}
	return nil
}

func decodesToUTF8(text string) bool {
	decoded := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if value, ok := escapeAt(text, i); ok {
			c = value
			i += 2
		}
		decoded = append(decoded, c)
	}
	return utf8.Valid(decoded)
}

func escapeAt(text string, i int) (byte, bool) {
	if text[i] != '%' || i+2 >= len(text) {
		return 0, false
	}
	high, ok1 := hexDigit(text[i+1])
	low, ok2 := hexDigit(text[i+2])
	return high<<4 | low, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func unreserved(c byte) bool {
	return lowerAlphanumeric(c) || c >= 'A' && c <= 'Z' || strings.IndexByte("-._~", c) >= 0
}

func pathByte(c byte) bool { return unreserved(c) || strings.IndexByte("/!$&'()*+,=:@", c) >= 0 }

func queryByte(c byte) bool { return pathByte(c) || c == '?' }

func pathEscape(c byte) bool {
	return queryEscape(c) && !unreserved(c) && strings.IndexByte(`/\%?#;`, c) < 0
}

func queryEscape(c byte) bool { return c >= ' ' && c != 0x7f }
