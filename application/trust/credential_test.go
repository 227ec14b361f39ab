package trust_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/notify"
	"berth/ports/store"
)

const day = 24 * time.Hour

// template is a node certificate as a CA would issue it for n1.
func template() *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "n1"},
		NotBefore: noon.Add(-time.Minute), NotAfter: noon.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
		URIs:                  []*url.URL{{Scheme: "spiffe", Host: domain, Path: "/relay/eu/n1"}},
		BasicConstraintsValid: true,
	}
}

// ca signs test certificates.
var ca = ed25519.NewKeyFromSeed([]byte(strings.Repeat("c", 32)))

func nodeKey() ed25519.PublicKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat("n", 32))).Public().(ed25519.PublicKey)
}

func issue(w *world, c *x509.Certificate, public any) []byte {
	w.t.Helper()
	issuer := &x509.Certificate{SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: "ca"}}
	der, err := x509.CreateCertificate(rand.Reader, c, issuer, public, ca)
	w.must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (w *world) admit(node string, certificate []byte) (identity.CredentialRecord, error) {
	return w.AdmitCredential(w.ctx, trust.AdmitCredentialRequest{Actor: alice, Node: node, Certificate: certificate})
}

// A certificate is admitted as prepared, under the fingerprint of its DER; admitting it again changes nothing.
func TestAdmitCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := w.dump().Audit.Sequence
	text := issue(w, template(), nodeKey())
	got, err := w.admit("n1", text)
	w.must(err)
	block, _ := pem.Decode(text)
	want := identity.CredentialRecord{
		Node: "n1", SPIFFEID: spiffe("n1").String(), Fingerprint: identity.FingerprintOf(block.Bytes),
		IssuedAt: noon.Add(-time.Minute), ExpiresAt: noon.Add(24 * time.Hour), State: identity.CredentialPrepared,
		AdmittedBy: "operator/alice",
	}
	if got != want {
		t.Fatalf("admitted is %+v", got)
	}
	w.wantActions(since, "credential.admitted")
	before := w.dump()
	again, err := w.admit("n1", []byte("\n"+string(text)+"\n"))
	w.must(err)
	if again != got {
		t.Fatalf("admitted again is %+v", again)
	}
	w.same(before, "admitting again")
	p := w.payload()
	p.Fingerprint = got.Fingerprint
	_, _, err = w.check(w.seal(p))
	w.must(err)
}

// Every sort of key that is strong enough is admitted, and no other.
func TestAdmittedKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	curve := func(c elliptic.Curve) any {
		k, err := ecdsa.GenerateKey(c, rand.Reader)
		w.must(err)
		return &k.PublicKey
	}
	rsaOf := func(bits int) any {
		n := new(big.Int).Lsh(big.NewInt(1), uint(bits-1))
		return &rsa.PublicKey{N: n.Add(n, big.NewInt(1)), E: 65537}
	}
	for what, c := range map[string]struct {
		key  any
		good bool
	}{
		"Ed25519": {nodeKey(), true}, "P-256": {curve(elliptic.P256()), true}, "P-384": {curve(elliptic.P384()), true},
		"RSA 2048": {rsaOf(2048), false}, "P-521": {curve(elliptic.P521()), false}, "P-224": {curve(elliptic.P224()), false},
	} {
		_, err := w.admit("n1", issue(w, template(), c.key))
		if c.good && err != nil || !c.good && fault.SlugOf(err) != "certificate_key_weak" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func uris(texts ...string) pkix.Extension {
	var names []asn1.RawValue
	for _, text := range texts {
		names = append(names, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte(text)})
	}
	value, err := asn1.Marshal(names)
	if err != nil {
		panic(err)
	}
	return pkix.Extension{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}
}

func named(texts ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.URIs = nil
		c.ExtraExtensions = append(c.ExtraExtensions, uris(texts...))
	}
}

// What is not a node's certificate is refused by a slug of its own, and nothing changes.
func TestAdmitCredentialRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.dump()
	own := spiffe("n1").String()
	for _, c := range []struct {
		what, slug string
		change     func(*x509.Certificate)
	}{
		{"of another node", "certificate_of_another_node", named(spiffe("n2").String())},
		{"of another region", "certificate_of_another_node", named("spiffe://example.test/relay/us/n1")},
		{"of another domain", "certificate_of_another_node", named("spiffe://elsewhere.test/relay/eu/n1")},
		{"in upper case", "certificate_of_another_node", named("SPIFFE://example.test/relay/eu/n1")},
		{"with an escape", "certificate_of_another_node", named("spiffe://example.test/relay/eu/n%31")},
		{"with a slash behind", "certificate_of_another_node", named(own + "/")},
		{"two names", "certificate_names", named(own, own)},
		{"two names, one foreign", "certificate_names", named(own, "https://example.test/")},
		{"no name", "certificate_names", func(c *x509.Certificate) { c.URIs = nil }},
		{"a DNS name beside it", "certificate_names", func(c *x509.Certificate) { c.DNSNames = []string{"n1.example.test"} }},
		{"a CA", "certificate_kind", func(c *x509.Certificate) { c.IsCA = true }},
		{"signs others", "certificate_kind", func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCertSign }},
		{"signs lists", "certificate_kind", func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCRLSign }},
		{"does not sign", "certificate_kind", func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement }},
		{"a server's only", "certificate_kind", func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		}},
		{"a use of its own", "certificate_kind", func(c *x509.Certificate) {
			c.ExtKeyUsage, c.UnknownExtKeyUsage = nil, []asn1.ObjectIdentifier{{1, 2, 3}}
		}},
		{"critical and unknown", "certificate_kind", func(c *x509.Certificate) {
			c.ExtraExtensions = append(c.ExtraExtensions, pkix.Extension{Id: asn1.ObjectIdentifier{1, 2, 3}, Critical: true, Value: []byte{5, 0}})
		}},
		{"over", "certificate_expired", func(c *x509.Certificate) { c.NotAfter = noon }},
		{"too long", "certificate_life_too_long", func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(398*day + time.Second) }},
	} {
		cert := template()
		c.change(cert)
		_, err := w.admit("n1", issue(w, cert, nodeKey()))
		if fault.SlugOf(err) != c.slug || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v, want %s", c.what, err, c.slug)
		}
		w.same(before, c.what)
	}
}

// Bytes that are not exactly one PEM certificate are refused.
func TestAdmitCredentialOfNoCertificate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := string(issue(w, template(), nodeKey()))
	before := w.dump()
	block, _ := pem.Decode([]byte(good))
	for what, text := range map[string]string{
		"nothing": "", "prose": "a certificate", "two": good + good, "prose in front": "hello\n" + good,
		"prose behind": good + "hello", "too long": good + strings.Repeat(" ", 16<<10), "cut": good[:len(good)/2],
		"a header":     strings.Replace(good, "-----\n", "-----\nA: b\n\n", 1),
		"another type": strings.ReplaceAll(good, "CERTIFICATE", "PUBLIC KEY"),
		"no DER":       string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")})),
		"more DER":     string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: append(slices.Clone(block.Bytes), 0)})),
		"NUL":          "\x00" + good,
	} {
		_, err := w.admit("n1", []byte(text))
		if fault.SlugOf(err) != "certificate_malformed" {
			t.Errorf("%s: %v", what, err)
		}
	}
	w.untouched(before, "no certificate")
}

// A certificate that is signed by an algorithm which is not on the list is refused. Ed448 stands in for any.
func TestAdmitCredentialOfAnotherAlgorithm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	w.must(err)
	block, _ := pem.Decode(issue(w, template(), &key.PublicKey))
	der := bytes.ReplaceAll(block.Bytes, []byte{6, 3, 0x2b, 0x65, 0x70}, []byte{6, 3, 0x2b, 0x65, 0x71})
	_, err = w.admit("n1", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	w.refused(err, fault.Invalid, "certificate_signature_weak")
}

// The node must exist and not be retired; a fingerprint that another admission took is not taken again.
func TestAdmitCredentialForWhom(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := issue(w, template(), nodeKey())
	_, err := w.admit("n9", text)
	w.refused(err, fault.NotFound, "node_not_found")
	_, err = w.admit("n1", text)
	w.must(err)
	bob := alice
	bob.ID = "bob"
	_, err = w.AdmitCredential(w.ctx, trust.AdmitCredentialRequest{Actor: bob, Node: "n1", Certificate: text})
	w.refused(err, fault.AlreadyExists, "credential_exists")
	w.retire("n1")
	_, err = w.admit("n1", text)
	w.refused(err, fault.Conflict, "node_retired")
	_, err = w.Credentials(w.ctx, "n9")
	w.refused(err, fault.NotFound, "node_not_found")
}

// A revocation is immediate, hinted at and audited once; repeating it changes nothing.
func TestRevokeCredential(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := w.dump().Audit.Sequence
	in := trust.RevokeCredentialRequest{Actor: alice, Node: "n1", Fingerprint: fingerprint("n1-current"), Reason: "lost"}
	got, err := w.RevokeCredential(w.ctx, in)
	w.must(err)
	if got.State != identity.CredentialRevoked || got.RevokedReason != "lost" || !got.RevokedAt.Equal(noon) {
		t.Fatalf("revoked is %+v", got)
	}
	if topics := w.hints.took(); !slices.Equal(topics, []notify.Topic{"node/n1"}) {
		t.Fatalf("hinted at %v", topics)
	}
	w.wantActions(since, "credential.revoked")
	_, _, err = w.check(w.seal(w.payload()))
	w.refused(err, fault.Unauthenticated, "credential_revoked")
	before := w.dump()
	in.Reason = ""
	again, err := w.RevokeCredential(w.ctx, in)
	w.must(err)
	if again != got {
		t.Fatalf("revoked again is %+v", again)
	}
	for slug, change := range map[string]func(*trust.RevokeCredentialRequest){
		"credential_not_found": func(r *trust.RevokeCredentialRequest) { r.Fingerprint = fingerprint("n2-current") },
		"node_not_found":       func(r *trust.RevokeCredentialRequest) { r.Node = "n9" },
	} {
		bad := in
		change(&bad)
		_, err := w.RevokeCredential(w.ctx, bad)
		w.refused(err, fault.NotFound, slug)
	}
	w.same(before, "what revokes nothing")
}

// Peers lists, in pages, exactly what a request would be accepted by.
func TestPeers(t *testing.T) {
	t.Parallel()
	w := hostile(t)
	w.credential("n2", "n2-next", identity.CredentialPrepared)
	var got []string
	page := store.Page{Limit: 1}
	for {
		list, err := w.Peers(w.ctx, trust.PeersRequest{Caller: identity.Caller{Node: "n1"}, Page: page})
		w.must(err)
		for _, c := range list.Items {
			got = append(got, c.Fingerprint)
		}
		if page.After = list.Next; list.Next == "" {
			break
		}
	}
	want := []string{
		fingerprint("n1-current"), fingerprint("n2-current"), fingerprint("n2-next"), fingerprint("other domain"),
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Fatalf("the peers are %v, want %v", got, want)
	}
}

// Whatever bytes come in place of a certificate, they are refused as Invalid or admitted; nothing panics.
func FuzzAdmitCredential(f *testing.F) {
	w := newWorld(f)
	good := issue(w, template(), nodeKey())
	f.Add(good)
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	bad := template()
	named("", "\xff")(bad)
	f.Add(issue(w, bad, nodeKey()))
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := newWorld(t).admit("n1", text)
		if kind := fault.KindOf(err); err != nil && kind != fault.Invalid {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
