package ingress_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	n1      = "spiffe://berth.example/relay/eu/n1"
	nobodys = "spiffe://other.example/relay/eu/n1"
)

// rawNames is a template whose alternative names are these URIs, whatever they look like.
func rawNames(uris ...string) *x509.Certificate {
	var names []asn1.RawValue
	for _, u := range uris {
		names = append(names, asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 6, Bytes: []byte(u)})
	}
	der, err := asn1.Marshal(names)
	if err != nil {
		panic(err)
	}
	t := nodeTemplate()
	t.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: der}}
	return t
}

func changed(change func(*x509.Certificate)) *x509.Certificate {
	t := nodeTemplate(n1)
	change(t)
	return t
}

// refused connects with a certificate and returns whether a request over it was not answered.
func (w *world) refused(cert *tls.Certificate) bool {
	w.tb.Helper()
	conn, err := w.dial(cert)
	if err != nil {
		return true
	}
	c := newClient(w.tb, conn)
	if _, err := conn.Write([]byte(get)); err != nil {
		return true
	}
	_, err = c.read()
	return err != nil
}

// A client is let in by exactly a node's certificate: signed by a root in force, in its time, naming one SPIFFE id of the
// trust domain and nothing else. Every other ends in the handshake, is counted by its reason, and nothing is passed on (I1).
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	w := start(t)
	other := newAuthority(t, "root") // of the same name
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	must(t, err)
	big, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	p224, err := ecdsa.GenerateKey(elliptic.P224(), rand.Reader)
	must(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	must(t, err)
	ended := authorityTemplate("ended")
	ended.NotAfter = time.Now().Add(-time.Minute)
	narrow := authorityTemplate("narrow")
	narrow.PermittedURIDomains, narrow.PermittedDNSDomainsCritical = []string{"other.example"}, true
	intermediate := w.ca.below(t, authorityTemplate("between"))
	bare := *intermediate
	bare.chain = nil
	self := newAuthority(t, "self")
	many := intermediate.issue(t, nodeTemplate(n1))
	for range 6 {
		many.Certificate = append(many.Certificate, intermediate.cert.Raw)
	}
	key := func(k crypto.Signer) *tls.Certificate { return w.ca.issueFor(t, nodeTemplate(n1), k) }
	for name, c := range map[string]struct {
		cert   *tls.Certificate
		reason string // empty where the client is let in
	}{
		"a node's":           {w.client("n1"), ""},
		"ed25519":            {key(edwards), ""},
		"P-384":              {key(p384), ""},
		"intermediate":       {intermediate.issue(t, nodeTemplate(n1)), ""},
		"none":               {nil, "certificate_required"},
		"another CA":         {other.issue(t, nodeTemplate(n1)), "certificate_untrusted"},
		"self-signed":        {&tls.Certificate{Certificate: [][]byte{self.cert.Raw}, PrivateKey: self.key}, "certificate_names"},
		"without its chain":  {bare.issue(t, nodeTemplate(n1)), "certificate_untrusted"},
		"ended intermediate": {w.ca.below(t, ended).issue(t, nodeTemplate(n1)), "certificate_expired"},
		"constrained":        {w.ca.below(t, narrow).issue(t, nodeTemplate(n1)), "certificate_untrusted"},
		"a chain of many":    {many, "certificate_malformed"},
		"a CA for a client": {w.ca.issue(t, changed(func(c *x509.Certificate) {
			c.IsCA, c.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		})), "certificate_kind"},
		"the CA itself": {&tls.Certificate{Certificate: [][]byte{w.ca.cert.Raw}, PrivateKey: w.ca.key}, "certificate_names"},
		"expired": {w.ca.issue(t, changed(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Second)
		})), "certificate_expired"},
		"not yet valid":      {w.ca.issue(t, changed(func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) })), "certificate_not_yet_valid"},
		"no name":            {w.ca.issue(t, nodeTemplate()), "certificate_names"},
		"a common name":      {w.ca.issue(t, func() *x509.Certificate { c := nodeTemplate(); c.Subject.CommonName = n1; return c }()), "certificate_names"},
		"two URIs":           {w.ca.issue(t, nodeTemplate(n1, n1)), "certificate_names"},
		"two URIs, others":   {w.ca.issue(t, nodeTemplate(n1, "spiffe://berth.example/relay/eu/n2")), "certificate_names"},
		"URI and DNS":        {w.ca.issue(t, changed(func(c *x509.Certificate) { c.DNSNames = []string{"n1.berth.example"} })), "certificate_names"},
		"URI and wildcard":   {w.ca.issue(t, changed(func(c *x509.Certificate) { c.DNSNames = []string{"*.berth.example"} })), "certificate_names"},
		"wildcard alone":     {w.ca.issue(t, func() *x509.Certificate { c := nodeTemplate(); c.DNSNames = []string{"*.berth.example"}; return c }()), "certificate_names"},
		"URI and IP":         {w.ca.issue(t, changed(func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)} })), "certificate_names"},
		"URI and e-mail":     {w.ca.issue(t, changed(func(c *x509.Certificate) { c.EmailAddresses = []string{"n1@berth.example"} })), "certificate_names"},
		"upper-case domain":  {w.ca.issue(t, rawNames("spiffe://Berth.example/relay/eu/n1")), "certificate_spiffe_id"},
		"upper-case scheme":  {w.ca.issue(t, rawNames("SPIFFE://berth.example/relay/eu/n1")), "certificate_spiffe_id"},
		"over-long":          {w.ca.issue(t, rawNames("spiffe://berth.example/relay/eu/"+strings.Repeat("n", 64))), "certificate_spiffe_id"},
		"longest of all":     {w.ca.issue(t, rawNames(n1+strings.Repeat("n", 3000))), "certificate_spiffe_id"},
		"escaped":            {w.ca.issue(t, rawNames("spiffe://berth.example/relay/eu/n%31")), "certificate_spiffe_id"},
		"trailing slash":     {w.ca.issue(t, rawNames(n1+"/")), "certificate_spiffe_id"},
		"another path":       {w.ca.issue(t, rawNames("spiffe://berth.example/agent/eu/n1")), "certificate_spiffe_id"},
		"query":              {w.ca.issue(t, rawNames(n1+"?a")), "certificate_spiffe_id"},
		"another domain":     {w.ca.issue(t, nodeTemplate(nobodys)), "certificate_trust_domain"},
		"server use only":    {w.ca.issue(t, changed(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })), "certificate_kind"},
		"code signing":       {w.ca.issue(t, changed(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} })), "certificate_kind"},
		"any use":            {w.ca.issue(t, changed(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageAny} })), "certificate_kind"},
		"no use":             {w.ca.issue(t, changed(func(c *x509.Certificate) { c.ExtKeyUsage = nil })), "certificate_kind"},
		"no digital signing": {w.ca.issue(t, changed(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement })), "certificate_kind"},
		"RSA-1024":           {key(weak), "certificate_key_weak"},
		"RSA-2048":           {key(big), "certificate_key_weak"},
		"P-224":              {key(p224), "certificate_required"},
		"the ingress's own":  {w.ca.issue(t, serverTemplate()), "certificate_names"},
	} {
		arrived, counted := len(w.back.all()), w.count("berth_ingress_handshake_failures_total", c.reason)
		refused := w.refused(c.cert)
		if refused != (c.reason != "") || (len(w.back.all()) > arrived) == refused {
			t.Errorf("%s: refused %v, %d arrived", name, refused, len(w.back.all())-arrived)
		}
		if refused {
			late := time.Now().Add(patience)
			for w.count("berth_ingress_handshake_failures_total", c.reason) == counted {
				if time.Now().After(late) {
					t.Errorf("%s: was not counted as %s; the log: %s", name, c.reason, last(w.log.String(), 600))
					break
				}
			}
		}
	}
}

// A connection that shows no certificate is one of a port scan more often than of a node: it is counted, and told of to those
// only who debug. One that shows a bad one is told of to everybody.
func TestPortScansAreNotLogged(t *testing.T) {
	t.Parallel()
	w := start(t)
	for _, c := range []struct {
		cert   *tls.Certificate
		reason string
		level  string
	}{
		{nil, "certificate_required", "DEBUG"},
		{w.ca.issue(t, nodeTemplate()), "certificate_names", "INFO"},
	} {
		if !w.refused(c.cert) {
			t.Fatalf("%s: was let in", c.reason)
		}
		line := regexp.MustCompile(`level=(\w+) msg="a connection was refused" reason=` + c.reason)
		eventually(t, c.reason+" is logged", func() bool { return line.MatchString(w.log.String()) })
		if got := line.FindStringSubmatch(w.log.String())[1]; got != c.level {
			t.Errorf("%s is logged at %s", c.reason, got)
		}
		if n := w.count("berth_ingress_handshake_failures_total", c.reason); n != 1 {
			t.Errorf("%s was counted %v times", c.reason, n)
		}
	}
}

// A chain holds for as long as each of its certificates, by the ingress's clock: at the handshake, and on a connection that
// lives on.
func TestChainEndsWithItsFirst(t *testing.T) {
	t.Parallel()
	w := start(t)
	soon := authorityTemplate("between")
	soon.NotAfter = time.Now().Add(30 * time.Minute)
	cert := w.ca.below(t, soon).issue(t, nodeTemplate(n1))
	conn, err := w.dial(cert)
	must(t, err)
	c := newClient(t, conn)
	if a := c.ask(get); a.StatusCode != 200 {
		t.Fatalf("answered %d", a.StatusCode)
	}
	w.clock.shift(45 * time.Minute)
	if !w.refused(cert) {
		t.Error("it is let in after the chain ended")
	}
	c.write(get) // it may be cut off before it is heard
	if a, err := c.read(); err == nil && a.slug() != "certificate_expired" {
		t.Errorf("answered %d %s", a.StatusCode, a.text)
	}
	if n := len(w.back.all()); n != 1 {
		t.Errorf("%d were passed on", n)
	}
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// TLS below 1.3 is not spoken, HTTP/2 is not agreed on, and no session is resumed past the verification.
func TestTransportIsNarrow(t *testing.T) {
	t.Parallel()
	w := start(t)
	cert := w.client("n1")
	base := func() *tls.Config {
		return &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{*cert}, ClientSessionCache: tls.NewLRUClientSessionCache(8)}
	}
	old := base()
	old.MaxVersion = tls.VersionTLS12
	if conn, err := tls.Dial("tcp", w.addr, old); err == nil {
		_ = conn.Close()
		t.Error("TLS 1.2 is spoken")
	}
	two := base()
	two.NextProtos = []string{"h2"}
	if conn, err := tls.Dial("tcp", w.addr, two); err == nil {
		_ = conn.Close()
		t.Error("a client that speaks HTTP/2 alone gets a connection")
	}
	both := base()
	both.NextProtos = []string{"h2", "http/1.1"}
	for range 2 {
		conn, err := tls.Dial("tcp", w.addr, both)
		must(t, err)
		c := newClient(t, conn)
		_ = conn.SetDeadline(time.Now().Add(patience))
		if a := c.ask(get); a.StatusCode != 200 {
			t.Fatalf("answered %d", a.StatusCode)
		}
		if s := conn.ConnectionState(); s.NegotiatedProtocol != "http/1.1" || s.DidResume || s.Version != tls.VersionTLS13 {
			t.Errorf("agreed on %q, resumed %v", s.NegotiatedProtocol, s.DidResume)
		}
		_ = conn.Close()
	}
}
