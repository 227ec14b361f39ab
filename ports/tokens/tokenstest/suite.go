package tokenstest

import (
	"encoding/base64"
	"maps"
	"strings"
	"testing"
	"time"

	"berth/domain/fault"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// wants checks that err is Unauthenticated by the slug, or nil where the slug is empty.
func wants(tb testing.TB, what string, err error, slug string) {
	tb.Helper()
	switch {
	case slug == "" && err != nil:
		tb.Errorf("%s: refused with %v", what, err)
	case slug != "" && (fault.SlugOf(err) != slug || fault.KindOf(err) != fault.Unauthenticated):
		tb.Errorf("%s: got %v, not %s", what, err, slug)
	}
}

// with returns m changed in one place; nil removes the member.
func with(m map[string]any, name string, value any) map[string]any {
	m = maps.Clone(m)
	m[name] = value
	if value == nil {
		delete(m, name)
	}
	return m
}

// headers are protected headers that are refused, by the end of the slug, whatever they are of. typ is the right type.
func headers(typ string) map[string]string {
	return map[string]string{
		`{"alg":"none","typ":"` + typ + `","kid":"k1"}`:                                 "algorithm",
		`{"alg":"HS256","typ":"` + typ + `","kid":"k1"}`:                                "algorithm",
		`{"alg":"eddsa","typ":"` + typ + `","kid":"k1"}`:                                "algorithm",
		`{"typ":"` + typ + `","kid":"k1"}`:                                              "algorithm",
		`{"alg":"EdDSA","kid":"k1"}`:                                                    "type",
		`{"alg":"EdDSA","typ":"JWT","kid":"k1"}`:                                        "type",
		`{"alg":"EdDSA","typ":"` + strings.ToUpper(typ) + `","kid":"k1"}`:               "type",
		`{"alg":"EdDSA","typ":"berth-device+jwt","kid":"k1"}`:                           "type",
		`{"alg":"none","alg":"EdDSA","typ":"` + typ + `","kid":"k1"}`:                   "header",
		`{"alg":"EdDSA","Alg":"none","typ":"` + typ + `","kid":"k1"}`:                   "header",
		`{"alg":"EdDSA","typ":"` + typ + `","kid":"k1","jwk":{"kty":"OKP"}}`:            "header",
		`{"alg":"EdDSA","typ":"` + typ + `","kid":"k1","jku":"https://evil.example/k"}`: "header",
		`{"alg":"EdDSA","typ":"` + typ + `","kid":"k1","x5u":"https://evil.example/x"}`: "header",
		`{"alg":"EdDSA","typ":"` + typ + `","kid":"k1","b64":false,"crit":["b64"]}`:     "header",
		`{"alg":"EdDSA","typ":"` + typ + `","kid":"k1"} {}`:                             "header",
		`[]`: "header", ``: "header", `null`: "algorithm or header",
	}
}

// texts are other texts for the same token, or near it; each is refused as malformed.
func texts(token string) map[string]string {
	first, rest, _ := strings.Cut(token, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	return map[string]string{
		"empty": "", "dots": "..", "two parts": first + "." + payload, "four parts": token + ".AAAA",
		"a line break at the end": token + "\n", "a line break within": first + "." + payload[:4] + "\n" + payload[4:] + "." + signature,
		"a space in front": " " + token, "padding": token + "==", "the other alphabet": first + ".+/+/." + signature,
		"other last bits": token[:len(token)-1] + string(neighbour(token[len(token)-1])),
		"a cut signature": token[:len(token)-1], "no signature": first + "." + payload + "." + "A",
	}
}

// neighbour is the next letter of base64url: as the last one of 64 bytes it stands for the same bytes.
func neighbour(c byte) byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return letters[strings.IndexByte(letters, c)+1]
}

// flipped returns the token with one bit of each part changed.
func flipped(token string) []string {
	var out []string
	split := strings.Split(token, ".")
	for i := 1; i < len(split); i++ {
		raw, _ := base64.RawURLEncoding.DecodeString(split[i])
		for _, at := range []int{0, len(raw) / 2, len(raw) - 1} {
			raw[at] ^= 1
			changed := append([]string(nil), split...)
			changed[i] = segment(raw)
			out = append(out, strings.Join(changed, "."))
			raw[at] ^= 1
		}
	}
	return out
}

// refusedAs checks a refusal whose slug may end in one of several ways.
func refusedAs(tb testing.TB, what string, err error, prefix, ends string) {
	tb.Helper()
	for end := range strings.SplitSeq(ends, " or ") {
		if fault.SlugOf(err) == prefix+end && fault.KindOf(err) == fault.Unauthenticated {
			return
		}
	}
	tb.Errorf("%s: got %v, not %s%s", what, err, prefix, ends)
}
