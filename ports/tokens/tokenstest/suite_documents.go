package tokenstest

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/tokens"
)

// Paper is both ends of a document: what signs by the keys of a signer, and what checks.
type Paper struct {
	tokens.DocumentSigner
	tokens.DocumentVerifier
}

// RunDocuments checks every law of signing and checking documents.
func RunDocuments(t *testing.T, open func(tb testing.TB, s signer.Signer) Paper) {
	t.Helper()
	law.Run(t, documentLaws(), func(tb testing.TB) desk { tb.Helper(); return newDesk(tb, open) })
}

func documentLaws() []law.Law[desk] {
	return []law.Law[desk]{
		{Name: "what was signed is what is read, byte for byte", Check: documentReturns},
		{Name: "a document is a compact JWS of RFC 8037", Check: documentWire},
		{Name: "a document is of one type", Check: documentTypes},
		{Name: "a key is trusted for its window and for itself", Check: documentKeys},
		{Name: "nothing of a document can be changed", Check: documentChanged},
		{Name: "a header says three things and nothing else", Check: documentHeaders},
		{Name: "one document has one text", Check: documentTexts},
		{Name: "what can not be signed everywhere is signed nowhere", Check: documentBounds},
		{Name: "a key that can not sign is unavailable", Check: documentUnavailable},
	}
}

// desk is a Paper with one key of the purpose of desired states.
type desk struct {
	Paper
	kms *signertest.Memory
	key tokens.SigningKey
	set tokens.KeySet
}

func newDesk(tb testing.TB, open func(tb testing.TB, s signer.Signer) Paper) desk {
	tb.Helper()
	kms := signertest.NewMemory(1)
	ref, public, err := kms.Create(tb.Context(), signer.DesiredState)
	if err != nil {
		tb.Fatal(err)
	}
	return desk{
		Paper: open(tb, kms), kms: kms, key: tokens.SigningKey{KID: "k1", Ref: ref},
		set: tokens.KeySet{"k1": {PublicKey: public, VerifyUntil: noon().Add(time.Hour)}},
	}
}

func (d desk) sign(tb testing.TB, payload string) string {
	tb.Helper()
	token, err := d.SignDocument(tb.Context(), d.key, tokens.DesiredStateType, []byte(payload))
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

func (d desk) verify(token string) error {
	_, _, err := d.VerifyDocument(token, tokens.DesiredStateType, d.set, noon())
	return err
}

func documentReturns(tb testing.TB, d desk) {
	tb.Helper()
	for _, payload := range []string{`{"revision":1}`, ` { "b":1,"a":2, "a":3}` + "\n", "\x00\xff\xfe", "x", strings.Repeat("<&>", 900)} {
		got, kid, err := d.VerifyDocument(d.sign(tb, payload), tokens.DesiredStateType, d.set, noon())
		if err != nil || !bytes.Equal(got, []byte(payload)) || kid != "k1" {
			tb.Errorf("%.20q came back as %.20q by %q (%v)", payload, got, kid, err)
		}
	}
}

func documentWire(tb testing.TB, d desk) {
	tb.Helper()
	token := d.sign(tb, `{"revision":1}`)
	header := `{"alg":"EdDSA","kid":"k1","typ":"berth-desired+jws"}`
	at := strings.LastIndexByte(token, '.')
	if token[:at] != segment([]byte(header))+"."+segment([]byte(`{"revision":1}`)) {
		tb.Errorf("the signing input is %s", token[:at])
	}
	if at != tokens.DocumentInput("k1", tokens.DesiredStateType, len(`{"revision":1}`)) {
		tb.Errorf("the signing input has %d bytes, which is not what was foretold", at)
	}
	signature, err := base64.RawURLEncoding.DecodeString(token[at+1:])
	if err != nil || !ed25519.Verify(d.set["k1"].PublicKey, []byte(token[:at]), signature) {
		tb.Errorf("the signature does not verify (%v)", err)
	}
}

func documentTypes(tb testing.TB, d desk) {
	tb.Helper()
	token := d.sign(tb, "x")
	for _, typ := range []string{tokens.PackageType, tokens.TrustSetType, "BERTH-DESIRED+JWS", ""} {
		_, _, err := d.VerifyDocument(token, typ, d.set, noon())
		wants(tb, "read as "+typ, err, "document_type")
	}
	for _, typ := range []string{tokens.DeviceTokenType, tokens.AgentTokenType, tokens.DeviceAssertionType, "JWT", ""} {
		_, err := d.SignDocument(tb.Context(), d.key, typ, []byte("x"))
		if fault.KindOf(err) != fault.Internal || fault.SlugOf(err) != "document_claims" {
			tb.Errorf("signed as %q: %v", typ, err)
		}
	}
}

func documentKeys(tb testing.TB, d desk) {
	tb.Helper()
	token, public := d.sign(tb, "x"), d.set["k1"].PublicKey
	end := noon().Add(time.Minute)
	set := func(kid string, key ed25519.PublicKey, until time.Time) tokens.KeySet {
		return tokens.KeySet{kid: {PublicKey: key, VerifyUntil: until}}
	}
	for name, c := range map[string]struct {
		set  tokens.KeySet
		now  time.Time
		slug string
	}{
		"just before the end":   {set("k1", public, end), end.Add(-1), ""},
		"at the end":            {set("k1", public, end), end, "document_key_retired"},
		"a key without an end":  {set("k1", public, time.Time{}), noon(), "document_key_retired"},
		"another kid":           {set("k2", public, end), noon(), "document_key_unknown"},
		"no keys":               {nil, noon(), "document_key_unknown"},
		"another key under it":  {set("k1", NewDevice(1).PublicKey(), end), noon(), "document_signature"},
		"a key of a wrong size": {set("k1", public[:31], end), noon(), "document_signature"},
		"no key under the kid":  {set("k1", nil, end), noon(), "document_signature"},
	} {
		_, _, err := d.VerifyDocument(token, tokens.DesiredStateType, c.set, c.now)
		wants(tb, name, err, c.slug)
	}
}

func documentChanged(tb testing.TB, d desk) {
	tb.Helper()
	for _, token := range flipped(d.sign(tb, `{"revision":1}`)) {
		payload, kid, err := d.VerifyDocument(token, tokens.DesiredStateType, d.set, noon())
		wants(tb, "one bit is another", err, "document_signature")
		if len(payload) > 0 || kid != "" {
			tb.Errorf("a refusal came with %q of %q", payload, kid)
		}
	}
}

func documentHeaders(tb testing.TB, d desk) {
	tb.Helper()
	own := NewDevice(1)
	d.set = tokens.KeySet{"k1": {PublicKey: own.PublicKey(), VerifyUntil: noon().Add(time.Hour)}}
	wants(tb, "unchanged", d.verify(own.SignRaw([]byte(tokens.DocumentHeader("k1", tokens.DesiredStateType)), []byte("x"))), "")
	for header, slug := range headers(tokens.DesiredStateType) {
		refusedAs(tb, header, d.verify(own.SignRaw([]byte(header), []byte("x"))), "document_", slug)
	}
	wants(tb, "no kid", d.verify(own.SignRaw([]byte(`{"alg":"EdDSA","typ":"berth-desired+jws"}`), []byte("x"))), "document_key_unknown")
}

func documentTexts(tb testing.TB, d desk) {
	tb.Helper()
	token := d.sign(tb, `{"revision":1}`)
	for name, other := range texts(token) {
		refusedAs(tb, name, d.verify(other), "document_", "malformed or header")
	}
	first, rest, _ := strings.Cut(token, ".")
	_, signature, _ := strings.Cut(rest, ".")
	wants(tb, "no payload", d.verify(first+".."+signature), "document_malformed")
	wants(tb, "too large", d.verify(token+strings.Repeat("A", signer.MaxMessage)), "document_too_large")
}

func documentBounds(tb testing.TB, d desk) {
	tb.Helper()
	longest := 1
	for tokens.DocumentInput("k1", tokens.DesiredStateType, longest+1) <= signer.MaxMessage {
		longest++
	}
	if err := d.verify(d.sign(tb, strings.Repeat("x", longest))); err != nil {
		tb.Errorf("the longest document: %v", err)
	}
	for _, size := range []int{0, longest + 1} {
		_, err := d.SignDocument(tb.Context(), d.key, tokens.DesiredStateType, bytes.Repeat([]byte("x"), size))
		if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != "message_size" {
			tb.Errorf("%d bytes: %v", size, err)
		}
	}
	for _, kid := range []string{"", `k"1`, `k\1`, "k 1", "k\n1", strings.Repeat("k", tokens.MaxName+1)} {
		_, err := d.SignDocument(tb.Context(), tokens.SigningKey{KID: kid, Ref: d.key.Ref}, tokens.DesiredStateType, []byte("x"))
		if fault.KindOf(err) != fault.Internal || fault.SlugOf(err) != "document_claims" {
			tb.Errorf("the kid %q: %v", kid, err)
		}
	}
}

func documentUnavailable(tb testing.TB, d desk) {
	tb.Helper()
	unavailable := func(name string) {
		tb.Helper()
		token, err := d.SignDocument(tb.Context(), d.key, tokens.DesiredStateType, []byte("x"))
		if token != "" || fault.KindOf(err) != fault.Unavailable || fault.SlugOf(err) != "signer_unavailable" {
			tb.Errorf("%s: %q (%v)", name, token, err)
		}
	}
	d.kms.Break(errors.New("the token was pulled out"))
	unavailable("a broken service")
	d.kms.Break(nil)
	d.key.Ref = "memory:none"
	unavailable("a key that is gone")
}
