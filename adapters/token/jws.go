// Package token issues device tokens and checks them, device assertions and agents' tokens, and signs and checks documents,
// on golang-jwt.
//
// golang-jwt reads JSON as encoding/json does, which takes names in any case and the last of two equal ones, and its
// base64 decoder skips line breaks. What one reader takes another may refuse or read otherwise, so everything is
// checked strictly before golang-jwt sees it: one text has one meaning, and one token has one text.
package token

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	strict "github.com/go-json-experiment/json"
	"github.com/golang-jwt/jwt/v5"

	"berth/domain/fault"
	"berth/ports/signer"
)

const algorithm = "EdDSA"

// kmsMethod is a jwt.SigningMethod whose key is a signer.KeyRef: it signs through a key management service, for as long
// as the context of one request lasts.
type kmsMethod struct {
	ctx    context.Context
	signer signer.Signer
}

func (kmsMethod) Alg() string { return algorithm }

func (m kmsMethod) Sign(input string, key any) ([]byte, error) {
	ref, ok := key.(signer.KeyRef)
	if !ok {
		return nil, jwt.ErrInvalidKeyType
	}
	signature, err := m.signer.Sign(m.ctx, ref, []byte(input))
	if err == nil && len(signature) != ed25519.SignatureSize {
		err = fmt.Errorf("the signer answered with %d bytes", len(signature))
	}
	return signature, err
}

func (kmsMethod) Verify(input string, signature []byte, key any) error {
	return jwt.SigningMethodEdDSA.Verify(input, signature, key)
}

// kind is one of the things that are checked: its exact type, what its slugs start with, and its size in bytes.
type kind struct {
	typ, slug string
	max       int
}

func (k kind) refuse(what, format string, args ...any) *fault.Error {
	return fault.New(fault.Unauthenticated, k.slug+"_"+what, format, args...)
}

// header lists every member that a header may have. That none other is taken refuses jwk, jku, x5u, x5c and crit.
type header struct {
	Algorithm string `json:"alg"`
	Type      string `json:"typ"`
	KeyID     string `json:"kid"`
}

// open reads the header of a compact JWS and checks all that does not need a key.
func (k kind) open(text string) (header, error) {
	var h header
	if len(text) > k.max {
		return h, k.refuse("too_large", "longer than %d bytes", k.max)
	}
	first, rest, _ := strings.Cut(text, ".")
	if strings.Count(rest, ".") != 1 || strings.ContainsFunc(text, foreign) {
		return h, k.refuse("malformed", "not a compact JWS")
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(first)
	if err != nil {
		return h, k.refuse("malformed", "the header is not base64url")
	}
	if err := unmarshal(decoded, &h); err != nil {
		return h, k.refuse("header", "the header has alg, typ and kid, each at most once and nothing else")
	}
	if h.Algorithm != algorithm {
		return h, k.refuse("algorithm", "the algorithm is not %s", algorithm)
	}
	if h.Type != k.typ {
		return h, k.refuse("type", "the type is not %s", k.typ)
	}
	return h, nil
}

// foreign tells what compact serialization has no use for; base64 decoding would skip some of it.
func foreign(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

// verify checks the signature of an opened text and reads its claims.
func (k kind) verify(text string, key ed25519.PublicKey, claims jwt.Claims) error {
	if len(key) != ed25519.PublicKeySize {
		return k.refuse("signature", "there is no key to check the signature with")
	}
	_, err := parser().ParseWithClaims(text, claims, func(*jwt.Token) (any, error) { return key, nil })
	return k.classify(err)
}

// peek reads the claims of an opened text without checking its signature.
func (k kind) peek(text string, claims jwt.Claims) error {
	_, _, err := parser().ParseUnverified(text, claims)
	return k.classify(err)
}

func (k kind) classify(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jwt.ErrTokenMalformed):
		return k.refuse("malformed", "the claims or the signature cannot be read").Because(err)
	default:
		return k.refuse("signature", "the signature does not match").Because(err)
	}
}

// parser leaves the claims to us, which have faults of their own for what is wrong with them.
func parser() *jwt.Parser {
	return jwt.NewParser(jwt.WithValidMethods([]string{algorithm}), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
}

// unmarshal refuses unknown, repeated and wrongly cased names and invalid UTF-8.
func unmarshal(text []byte, into any) error {
	return strict.Unmarshal(text, into, strict.RejectUnknownMembers(true))
}
