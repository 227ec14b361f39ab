package token

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"berth/domain/fault"
	"berth/ports/signer"
	"berth/ports/tokens"
)

// maxDocument is what the longest signing input and its signature make.
const maxDocument = signer.MaxMessage + 1 + (ed25519.SignatureSize*8+5)/6

func document(typ string) kind { return kind{typ, "document", maxDocument} }

// DocumentSigner is a tokens.DocumentSigner. Use NewDocumentSigner.
type DocumentSigner struct{ signer signer.Signer }

var _ tokens.DocumentSigner = (*DocumentSigner)(nil)

// NewDocumentSigner returns a signer of documents by keys of the given service.
func NewDocumentSigner(s signer.Signer) *DocumentSigner { return &DocumentSigner{s} }

// SignDocument signs the payload as it is: nothing of it is read, so that what is kept of it is what was signed.
func (d *DocumentSigner) SignDocument(ctx context.Context, key tokens.SigningKey, typ string, payload []byte) (string, error) {
	if !tokens.IsDocumentType(typ) || !isKID(key.KID) {
		return "", fault.New(fault.Internal, "document_claims", "no document has this type, or no key this kid")
	}
	length := tokens.DocumentInput(key.KID, typ, len(payload))
	if len(payload) == 0 || length > signer.MaxMessage {
		return "", fault.New(fault.Invalid, "message_size", "a document has a payload, and up to %d bytes to sign, this one has %d",
			signer.MaxMessage, length)
	}
	input := segment([]byte(tokens.DocumentHeader(key.KID, typ))) + "." + segment(payload)
	signature, err := kmsMethod{ctx, d.signer}.Sign(input, key.Ref)
	switch {
	case err == nil:
		return input + "." + segment(signature), nil
	case fault.KindOf(err) != fault.Unavailable:
		return "", signer.Unreachable(err)
	}
	return "", err
}

// DocumentVerifier is a tokens.DocumentVerifier. Its zero value is ready.
type DocumentVerifier struct{}

var _ tokens.DocumentVerifier = DocumentVerifier{}

// VerifyDocument checks a document. The window of its key is that at now, whenever it was signed.
func (DocumentVerifier) VerifyDocument(text, typ string, keys tokens.KeySet, now time.Time) ([]byte, string, error) {
	k := document(typ)
	h, err := k.open(text)
	if err != nil {
		return nil, "", err
	}
	at := strings.LastIndexByte(text, '.')
	payload, errPayload := decode(text[strings.IndexByte(text, '.')+1 : at])
	signature, errSignature := decode(text[at+1:])
	if errPayload != nil || errSignature != nil || len(payload) == 0 {
		return nil, "", k.refuse("malformed", "the payload or the signature cannot be read")
	}
	key, ok := keys[h.KeyID]
	if !ok {
		return nil, "", k.refuse("key_unknown", "it was signed by no key that is known here")
	}
	if !now.Before(key.VerifyUntil) {
		return nil, "", k.refuse("key_retired", "the key that signed it is no longer trusted")
	}
	if len(key.PublicKey) != ed25519.PublicKeySize ||
		jwt.SigningMethodEdDSA.Verify(text[:at], signature, key.PublicKey) != nil {
		return nil, "", k.refuse("signature", "the signature does not match")
	}
	return payload, h.KeyID, nil
}

// isKID accepts what stands in a header as it is, without JSON having to escape anything.
func isKID(kid string) bool { return isName(kid) && !strings.ContainsAny(kid, `"\`) }

func segment(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func decode(text string) ([]byte, error) { return base64.RawURLEncoding.Strict().DecodeString(text) }
