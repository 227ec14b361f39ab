package authorization_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"testing"

	"berth/domain/authorization"
	"berth/domain/fault"
)

// A handle's digest is the SHA-256 of its text, for every length from 128 bits on.
func TestHandleForm(t *testing.T) {
	t.Parallel()
	for n := 16; n <= 64; n++ {
		text, err := authorization.FormatHandle(bytes.Repeat([]byte{0xfb}, n))
		wantNone(t, err)
		digest, err := authorization.ParseHandle(text)
		wantNone(t, err)
		if digest != sha256.Sum256([]byte(text)) || len(digest.String()) != 64 {
			t.Errorf("%d bytes: the digest of %s is %s", n, text, digest)
		}
	}
	for _, n := range []int{0, 15, 65} {
		_, err := authorization.FormatHandle(make([]byte, n))
		wantSlug(t, err, fault.Internal, "handle_entropy")
	}
}

// Nothing but the exact text of a handle is one; the answer does not repeat what was sent.
func TestHandleRefusals(t *testing.T) {
	t.Parallel()
	text := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xfb}, 16))
	loose := text[:len(text)-1] + "x" // the last character's low bits are not zero
	bad := []string{
		"", "h_", text, "H_" + text, "h-" + text, " h_" + text, "h_" + text + "\n", "h_" + text[:4] + "\n" + text[4:],
		"h_" + text[:4] + "\r\n" + text[4:], "h_" + text + "==", "h_" + loose, "h_" + text[:20], "h_" + text + "\x00",
		"h_" + strings.ReplaceAll(text, "-", "+"), "h_" + strings.Repeat("A", 87), "h_" + strings.Repeat("A", 1<<20),
	}
	for _, s := range bad {
		_, err := authorization.ParseHandle(s)
		if fault.SlugOf(err) != "invalid_handle" {
			t.Errorf("%.40q: %v", s, err)
		}
		if len(s) > 4 && err != nil && strings.Contains(err.Error(), strings.TrimSpace(s)) {
			t.Errorf("the refusal repeats %.40q", s)
		}
	}
}

// What is accepted is exactly what FormatHandle writes, so that no two texts name one capability.
func FuzzParseHandle(f *testing.F) {
	for _, s := range []string{"", "h_", "h_AAAAAAAAAAAAAAAAAAAAAA", "h_AAAAAAAAAAAAAAAAAAAAAB", "h_AAAA\nAAAAAAAAAAAAAAAAAA"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		digest, err := authorization.ParseHandle(s)
		if err != nil {
			if fault.SlugOf(err) != "invalid_handle" || digest != (authorization.Digest{}) {
				t.Fatalf("%q: %v with %v", s, err, digest)
			}
			return
		}
		random, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(s, "h_"))
		if err != nil || len(random) < 16 {
			t.Fatalf("%q was accepted: %v, %d bytes", s, err, len(random))
		}
		again, err := authorization.FormatHandle(random)
		if err != nil || again != s || digest != sha256.Sum256([]byte(s)) {
			t.Fatalf("%q was accepted, its form is %q, %v", s, again, err)
		}
	})
}
