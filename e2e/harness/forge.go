package harness

import (
	"context"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"time"

	"berth/adapters/contract"
	"berth/ports/tokens"
)

// Fixed is one token, which is used whatever becomes of it.
type Fixed string

// Token gives it.
func (f Fixed) Token(context.Context) (contract.AccessToken, error) {
	return contract.AccessToken{AccessToken: string(f), ExpiresAt: time.Now().Add(time.Hour)}, nil
}

// Forget keeps it.
func (Fixed) Forget(string) {}

// Forge makes a device token as the control plane would for a phone in a region, with header and claims bent, and signed by
// the key that signs now: by HMAC with its public half where the header says HS256, and not at all where it says none.
func (s *Site) Forge(p *Phone, region string, bend func(header, claims map[string]any)) Fixed {
	s.tb.Helper()
	kid, key := s.signingKey()
	now := time.Now()
	header := map[string]any{"alg": "EdDSA", "typ": tokens.DeviceTokenType, "kid": kid}
	claims := map[string]any{
		"iss": TrustDomain, "sub": p.Principal, "aud": []string{region, p.Tenant}, "cnf": map[string]any{"jkt": tokens.Thumbprint(p.PublicKey())},
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": rand.Text(),
	}
	bend(header, claims)
	text := part(s, header) + "." + part(s, claims)
	var signature []byte
	switch header["alg"] {
	case "none":
	case "HS256":
		mac := hmac.New(sha256.New, key.Public().(ed25519.PublicKey))
		mac.Write([]byte(text))
		signature = mac.Sum(nil)
	default:
		signature = ed25519.Sign(key, []byte(text))
	}
	return Fixed(text + "." + base64.RawURLEncoding.EncodeToString(signature))
}

func part(s *Site, v map[string]any) string {
	s.tb.Helper()
	data, err := json.Marshal(v)
	must(s.tb, err)
	return base64.RawURLEncoding.EncodeToString(data)
}

// signingKey is the key that signs device tokens now: its id as it is published, and its private half as the KMS of files
// has it.
func (s *Site) signingKey() (kid string, key ed25519.PrivateKey) {
	s.tb.Helper()
	list, err := s.Operator().SigningKeys(s.tb.Context())
	must(s.tb, err)
	for _, k := range list.Keys {
		if k.Purpose == "device-token" && k.State == "active" {
			kid = k.KID
			public, err := base64.RawURLEncoding.DecodeString(k.PublicKey)
			must(s.tb, err)
			return kid, s.private(public)
		}
	}
	s.tb.Fatalf("no key signs device tokens: %+v", list.Keys)
	return "", nil
}

// private finds a key in the KMS by its public half.
func (s *Site) private(public ed25519.PublicKey) ed25519.PrivateKey {
	s.tb.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "keys", "*.pem"))
	must(s.tb, err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		must(s.tb, err)
		block, _ := pem.Decode(text)
		if block == nil {
			continue
		}
		if key, err := x509.ParsePKCS8PrivateKey(block.Bytes); err == nil {
			if key, ok := key.(ed25519.PrivateKey); ok && key.Public().(ed25519.PublicKey).Equal(public) {
				return key
			}
		}
	}
	s.tb.Fatal("the KMS has no such key")
	return nil
}
