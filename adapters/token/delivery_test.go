package token_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"berth/adapters/token"
	"berth/domain/fault"
	"berth/ports/signer"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

func TestAgentTokensConform(t *testing.T) {
	t.Parallel()
	tokenstest.RunAgents(t, func(testing.TB) tokens.AgentVerifier { return token.AgentVerifier{} })
}

func TestDocumentsConform(t *testing.T) {
	t.Parallel()
	tokenstest.RunDocuments(t, func(_ testing.TB, s signer.Signer) tokenstest.Paper {
		return tokenstest.Paper{DocumentSigner: token.NewDocumentSigner(s), DocumentVerifier: token.DocumentVerifier{}}
	})
}

// The fuzzer writes header and claims, which are then truly signed, and what follows the signature. The adapter and the
// fake, which share no code, agree on whether it is a token; and what is one says exactly what the contract allows.
func FuzzAgentToken(f *testing.F) {
	request := tokenstest.Request("GET", "/agent/v1/desired-state", nil)
	f.Add([]byte(`{"alg":"EdDSA","typ":"berth-agent+jwt"}`),
		[]byte(`{"iss":"agt_1","aud":"ins_1","htm":"GET","htu":"/agent/v1/desired-state","bdh":`+
			`"47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU","ins":"pod-1","iat":1772366400,"exp":1772366460}`), "")
	f.Add([]byte(`{"alg":"none","typ":"berth-agent+jwt","jwk":{}}`), []byte(`{"iss":"a","iss":"b"}`), "=")
	a := tokenstest.NewAgent(1)
	f.Fuzz(func(t *testing.T, header, claims []byte, tail string) {
		text := a.SignRaw(header, claims) + tail
		claimed, errClaimed := token.AgentVerifier{}.Claimed(text)
		got, err := token.AgentVerifier{}.VerifyAgent(text, a.PublicKey(), request, "ins_1", noon())
		if err != nil {
			refusedBySlug(t, err, "agent_token_")
			return
		}
		fake, errFake := tokenstest.Agents{}.VerifyAgent(text, a.PublicKey(), request, "ins_1", noon())
		if errFake != nil || fake != got || errClaimed != nil || claimed != got.Agent {
			t.Fatalf("%s was taken for %+v, elsewhere for %+v (%v), claimed as %q (%v)", claims, got, fake, errFake, claimed, errClaimed)
		}
		oneText(t, text, tail)
		says := reread(t, header, claims, tokens.AgentTokenType)
		if says["iss"] != got.Agent || says["aud"] != got.Install || says["ins"] != got.Instance || got.Install != "ins_1" {
			t.Fatalf("%s was taken for %+v", claims, got)
		}
	})
}

// Whatever header and payload are signed: a document is refused by a slug, or comes back as it is.
func FuzzDocument(f *testing.F) {
	f.Add([]byte(tokens.DocumentHeader("k1", tokens.DesiredStateType)), []byte(`{"revision":1}`), "")
	f.Add([]byte(`{"alg":"EdDSA","kid":"k1","typ":"berth-desired+jws","crit":[]}`), []byte{}, "\n")
	d := tokenstest.NewDevice(1)
	keys := tokens.KeySet{"k1": {PublicKey: d.PublicKey(), VerifyUntil: noon().Add(time.Hour)}}
	f.Fuzz(func(t *testing.T, header, payload []byte, tail string) {
		text := d.SignRaw(header, payload) + tail
		got, kid, err := token.DocumentVerifier{}.VerifyDocument(text, tokens.DesiredStateType, keys, noon())
		if err != nil {
			refusedBySlug(t, err, "document_")
			return
		}
		oneText(t, text, tail)
		if !bytes.Equal(got, payload) || kid != "k1" || strings.Contains(string(header), "crit") {
			t.Fatalf("%q under %s was taken for %q", payload, header, got)
		}
	})
}

// The KMS of a document's key may answer with anything; only a signature of an Ed25519 key's size becomes a document.
func TestShortSignaturesMakeNoDocument(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := token.NewDocumentSigner(short{}).SignDocument(t.Context(), w.key, tokens.PackageType, []byte("x"))
	if fault.SlugOf(err) != "signer_unavailable" {
		t.Fatalf("got %v", err)
	}
}

type short struct{}

func (short) Sign(context.Context, signer.KeyRef, []byte) ([]byte, error) {
	return make([]byte, 63), nil
}
