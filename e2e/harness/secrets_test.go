package harness_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/e2e/harness"
)

// A secret is found in every form that it may be written in, wherever it stands, and nothing is found where it does not.
func TestSecretsAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SliceOfN(rapid.Byte(), 16, 64).Draw(t, "secret")
		before := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "before")
		behind := rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "behind")
		s := harness.NewSecrets()
		s.Add("the secret", secret)
		whole := slices.Concat(before, secret, behind)
		for form, text := range map[string]string{
			"raw": string(whole), "hex": hex.EncodeToString(whole), "HEX": strings.ToUpper(hex.EncodeToString(whole)),
			"bytea": `\x` + hex.EncodeToString(whole), "base64": base64.StdEncoding.EncodeToString(whole),
			"base64url": base64.RawURLEncoding.EncodeToString(whole), "base32": base32.StdEncoding.EncodeToString(whole),
			"base32 lower": strings.ToLower(base32.StdEncoding.EncodeToString(whole)), "Go": fmt.Sprintf("%d", whole),
			"JSON":         strings.ReplaceAll(fmt.Sprintf("%d", whole), " ", ","),
			"lines":        fmt.Sprintf("%x\n%x", whole[:len(before)+8], whole[len(before)+8:]),
			"quoted lines": fmt.Sprintf("%x\\n%x", whole[:len(before)+8], whole[len(before)+8:]),
			"URL":          "?x=" + url.QueryEscape(base64.StdEncoding.EncodeToString(whole)),
		} {
			if !slices.Equal(s.Found([]byte("log line: "+text+" end")), []string{"the secret"}) {
				t.Errorf("it is not found as %s: %s", form, text)
			}
		}
		damaged := slices.Clone(secret)
		damaged[len(damaged)/2] ^= 1
		if found := s.Found([]byte(hex.EncodeToString(damaged) + string(damaged))); found != nil {
			t.Errorf("found %q where it is not", found)
		}
	})
}

// Of a private key its file is found, and the secret number alone too; of a token also what follows its prefix.
func TestSecretKeysAreFound(t *testing.T) {
	t.Parallel()
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	number, err := ec.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key  any
		core []byte
	}{{ed, ed.Seed()}, {ec, number}} {
		der, err := x509.MarshalPKCS8PrivateKey(c.key)
		if err != nil {
			t.Fatal(err)
		}
		text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
		s := harness.NewSecrets()
		if s.AddKeys("a key", text) != 1 || !s.Has("a key") {
			t.Fatal("the key is not collected")
		}
		for _, seen := range [][]byte{der, c.core, []byte(base64.StdEncoding.EncodeToString(c.core)), []byte(base64.StdEncoding.EncodeToString(der))} {
			if s.Found(seen) == nil {
				t.Errorf("%T is not found in %q", c.key, seen)
			}
		}
	}
	s := harness.NewSecrets()
	s.AddText("a token", "bj_abcdefghijklmnopqrstuvwxyz234567\n")
	if s.Found([]byte("token=ABCDEFGH abcdefghijklmnopqrstuvwxyz234567")) == nil || s.Found([]byte("bj_")) != nil {
		t.Error("a token is found by its prefix, or not without it")
	}
}
