package tokenstest

import (
	"context"
	"crypto/ed25519"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/ports/signer"
	"berth/ports/tokens"
)

// Documents signs and checks documents on the standard library, by keys of the Signer, for tests of use cases.
type Documents struct{ Signer signer.Signer }

var (
	_ tokens.DocumentSigner   = Documents{}
	_ tokens.DocumentVerifier = Documents{}
)

// SignDocument signs as the contract says.
func (d Documents) SignDocument(ctx context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
	if !tokens.IsDocumentType(typ) || key.KID == "" || len(key.KID) > tokens.MaxName || strings.ContainsAny(key.KID, "\"\\ \n") {
		return "", fault.New(fault.Internal, "document_claims", "no document has this type, or no key this kid")
	}
	if len(payload) == 0 || tokens.DocumentInput(key.KID, typ, len(payload)) > signer.MaxMessage {
		return "", fault.New(fault.Invalid, "message_size", "a document of this size is not signed")
	}
	input := segment([]byte(tokens.DocumentHeader(key.KID, typ))) + "." + segment(payload)
	signature, err := d.Signer.Sign(ctx, key.Ref, []byte(input))
	if err != nil {
		return "", signer.Unreachable(err)
	}
	return input + "." + segment(signature), nil
}

// VerifyDocument checks as the contract says.
func (Documents) VerifyDocument(token, typ string, keys tokens.KeySet, now time.Time) ([]byte, string, error) {
	split, ok := parts(token)
	if len(token) > signer.MaxMessage+87 {
		return nil, "", refuseDocument("too_large")
	}
	if !ok {
		return nil, "", refuseDocument("malformed")
	}
	header, ok := members(split[0], "alg", "typ", "kid")
	kid := text(header, "kid")
	key, known := keys[kid]
	at := strings.LastIndexByte(token, '.')
	switch {
	case !ok:
		return nil, "", refuseDocument("header")
	case header["alg"] != "EdDSA":
		return nil, "", refuseDocument("algorithm")
	case header["typ"] != typ:
		return nil, "", refuseDocument("type")
	case len(split[1]) == 0:
		return nil, "", refuseDocument("malformed")
	case !known:
		return nil, "", refuseDocument("key_unknown")
	case !now.Before(key.VerifyUntil):
		return nil, "", refuseDocument("key_retired")
	case len(key.PublicKey) != ed25519.PublicKeySize || !ed25519.Verify(key.PublicKey, []byte(token[:at]), split[2]):
		return nil, "", refuseDocument("signature")
	}
	return split[1], kid, nil
}

func refuseDocument(what string) error {
	return fault.New(fault.Unauthenticated, "document_"+what, "the document is refused")
}
