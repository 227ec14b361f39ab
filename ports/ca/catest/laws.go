package catest

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"errors"
	"math/big"
	"testing"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca"
)

func saysTheOrder(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	for _, public := range publics(tb) {
		o := order(tb, by, public)
		c := certify(tb, s, o)
		got, err := identity.ReadNodeCertificate(c.Raw)
		if err != nil {
			tb.Fatalf("what was signed is no node's certificate: %v", err)
		}
		same, _ := public.(interface{ Equal(crypto.PublicKey) bool })
		if got.SPIFFEID != o.SPIFFEID || !same.Equal(got.PublicKey) || !got.NotBefore.Equal(o.Validity.NotBefore) ||
			!got.NotAfter.Equal(o.Validity.NotAfter) {
			tb.Fatalf("%+v was ordered, and %+v signed", o, got)
		}
		if len(c.Subject.Names) > 0 || len(c.CRLDistributionPoints)+len(c.OCSPServer)+len(c.IssuingCertificateURL) > 0 {
			tb.Fatalf("the certificate says more than was ordered: %v", c.Subject)
		}
	}
}

func verifyAt(c *x509.Certificate, by authority, at time.Time, usage x509.ExtKeyUsage) error {
	pool := x509.NewCertPool()
	pool.AddCert(by.cert)
	_, err := c.Verify(x509.VerifyOptions{Roots: pool, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{usage}})
	return err
}

func verifies(tb testing.TB, s Subject) {
	by, other := root(tb, s, "one"), root(tb, s, "two")
	c := certify(tb, s, order(tb, by, edKey(tb)))
	for _, at := range []time.Time{c.NotBefore, now(), c.NotAfter} {
		if err := verifyAt(c, by, at, x509.ExtKeyUsageClientAuth); err != nil {
			tb.Fatalf("at %v: %v", at, err)
		}
	}
	if verifyAt(c, by, c.NotAfter.Add(time.Second), x509.ExtKeyUsageClientAuth) == nil {
		tb.Fatalf("it verifies after its end")
	}
	if verifyAt(c, other, now(), x509.ExtKeyUsageClientAuth) == nil {
		tb.Fatalf("it verifies against another root")
	}
}

func servesTLS(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	c := certify(tb, s, order(tb, by, edKey(tb)))
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth} {
		if err := verifyAt(c, by, now(), usage); err != nil {
			tb.Fatalf("usage %v: %v", usage, err)
		}
	}
}

func namesKeys(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	c := certify(tb, s, order(tb, by, edKey(tb)))
	if len(by.cert.SubjectKeyId) == 0 || !bytes.Equal(c.AuthorityKeyId, by.cert.SubjectKeyId) || !bytes.Equal(c.RawIssuer, by.cert.RawSubject) {
		tb.Fatalf("the certificate names %x and %s as its issuer, which is %x and %s", c.AuthorityKeyId, c.Issuer, by.cert.SubjectKeyId, by.cert.Subject)
	}
}

func serials(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	seen := map[string]bool{}
	for _, serial := range [][ca.SerialBytes]byte{{}, {15: 1}, {0: 0xff}, {0: 0xff, 15: 1}, serialOf("a"), serialOf("b")} {
		o := order(tb, by, edKey(tb))
		o.Serial = serial
		n := certify(tb, s, o).SerialNumber
		if n.Sign() <= 0 || n.BitLen() > 8*20 || seen[n.String()] {
			tb.Fatalf("the serial number is %v", n)
		}
		seen[n.String()] = true
	}
}

func rootsAreTaken(tb testing.TB, s Subject) {
	r := rootOrder(tb, s, "one")
	der, err := s.CA.SelfSign(tb.Context(), r)
	if err != nil {
		tb.Fatalf("self-sign: %v", err)
	}
	for _, notBefore := range []time.Time{now().Add(-windows().Skew), windows().NotBefore(now())} {
		if _, err := identity.NewSigningKey(identity.NewKey{
			KID: "key_1", Purpose: identity.KeyForCA, PublicKey: r.Public, Certificate: der, Ref: string(r.Ref), NotBefore: notBefore,
		}, windows(), now()); err != nil {
			tb.Fatalf("a key ring refuses the root: %v", err)
		}
	}
	if c := parsed(tb, der); c.KeyUsage != x509.KeyUsageCertSign || len(c.ExtKeyUsage) > 0 {
		tb.Fatalf("the root may do more than sign certificates: %v", c.KeyUsage)
	}
}

func endsPaths(tb testing.TB, s Subject) {
	c := root(tb, s, "one").cert
	if !c.IsCA || !c.BasicConstraintsValid || c.MaxPathLen != 0 || !c.MaxPathLenZero {
		tb.Fatalf("the root's path length is %d", c.MaxPathLen)
	}
}

func keepsDomainsApart(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	o := order(tb, by, edKey(tb))
	o.SPIFFEID = nodeID(tb, "elsewhere.example", "n1")
	_, err := s.CA.Certify(tb.Context(), o)
	refused(tb, "an order of another trust domain", err, fault.Invalid, "ca_order_refused")
	if !by.cert.PermittedDNSDomainsCritical || len(by.cert.PermittedURIDomains) != 1 || by.cert.PermittedURIDomains[0] != domain {
		tb.Fatalf("the root is constrained to %v", by.cert.PermittedURIDomains)
	}
}

func tellsRootsApart(tb testing.TB, s Subject) {
	one, two := root(tb, s, "one").cert, root(tb, s, "two").cert
	if bytes.Equal(one.RawSubject, two.RawSubject) || bytes.Equal(one.SubjectKeyId, two.SubjectKeyId) || one.SerialNumber.Cmp(two.SerialNumber) == 0 {
		tb.Fatalf("two roots are both %s", one.Subject)
	}
}

func refusesOrders(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	n := new(big.Int).Lsh(big.NewInt(1), 2047)
	for what, change := range map[string]func(*ca.Order){
		"no key":             func(o *ca.Order) { o.Public = nil },
		"an RSA key":         func(o *ca.Order) { o.Public = &rsa.PublicKey{N: n, E: 65537} },
		"a key on P-224":     func(o *ca.Order) { o.Public = curveKey(tb, elliptic.P224()) },
		"a key of low order": func(o *ca.Order) { o.Public = ed25519.PublicKey(make([]byte, 32)) },
		"no name":            func(o *ca.Order) { o.SPIFFEID = identity.SPIFFEID{} },
		"no root":            func(o *ca.Order) { o.Issuer.Root = nil },
		"garbage as a root":  func(o *ca.Order) { o.Issuer.Root = []byte("root") },
		"no validity":        func(o *ca.Order) { o.Validity = identity.Validity{} },
		"an end at its beginning": func(o *ca.Order) {
			o.Validity.NotAfter = o.Validity.NotBefore
		},
	} {
		o := order(tb, by, edKey(tb))
		change(&o)
		issued, err := s.CA.Certify(tb.Context(), o)
		refused(tb, what, err, fault.Invalid, "ca_order_refused")
		if len(issued.Certificate) > 0 {
			tb.Fatalf("%s: the refusal came with a certificate", what)
		}
	}
	for what, change := range map[string]func(*ca.Root){
		"no name":         func(r *ca.Root) { r.Name = "" },
		"no trust domain": func(r *ca.Root) { r.TrustDomain = "" },
		"no validity":     func(r *ca.Root) { r.Validity = identity.Validity{} },
		"no key":          func(r *ca.Root) { r.Public = nil },
	} {
		r := rootOrder(tb, s, "one")
		change(&r)
		_, err := s.CA.SelfSign(tb.Context(), r)
		refused(tb, "a root with "+what, err, fault.Invalid, "ca_order_refused")
	}
}

func bounds(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	for what, change := range map[string]func(*identity.Validity){
		"a later end":      func(v *identity.Validity) { v.NotAfter = by.cert.NotAfter.Add(time.Second) },
		"an earlier start": func(v *identity.Validity) { v.NotBefore = by.cert.NotBefore.Add(-time.Second) },
	} {
		o := order(tb, by, edKey(tb))
		change(&o.Validity)
		_, err := s.CA.Certify(tb.Context(), o)
		refused(tb, what, err, fault.Invalid, "ca_order_refused")
	}
}

func comesBack(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	pending := rootOrder(tb, s, "two")
	cause := errors.New("the line is cut")
	s.Break(cause)
	_, certify1 := s.CA.Certify(tb.Context(), order(tb, by, edKey(tb)))
	_, selfSign := s.CA.SelfSign(tb.Context(), pending)
	for what, err := range map[string]error{"an order": certify1, "a root": selfSign} {
		refused(tb, what, err, fault.Unavailable, "ca_unavailable")
		if f, _ := fault.As(err); !errors.Is(err, cause) || f.RetryAfter <= 0 {
			tb.Fatalf("%s: the cause or the time to try again is lost: %v", what, err)
		}
	}
	s.Break(nil)
	if err := verifyAt(certify(tb, s, order(tb, by, edKey(tb))), by, now(), x509.ExtKeyUsageClientAuth); err != nil {
		tb.Fatal(err)
	}
}

func heedsContext(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	_, certified := s.CA.Certify(ended(tb), order(tb, by, edKey(tb)))
	_, rooted := s.CA.SelfSign(ended(tb), rootOrder(tb, s, "two"))
	for _, err := range []error{certified, rooted} {
		refused(tb, "an ended context", err, fault.Unavailable, "ca_unavailable")
		if !errors.Is(err, context.Canceled) {
			tb.Fatalf("why is lost: %v", err)
		}
	}
}

func needsItsKey(tb testing.TB, s Subject) {
	by := root(tb, s, "one")
	if err := s.Keys.Destroy(tb.Context(), by.Ref); err != nil {
		tb.Fatal(err)
	}
	_, err := s.CA.Certify(tb.Context(), order(tb, by, edKey(tb)))
	refused(tb, "an order to a key that is gone", err, fault.Unavailable, "ca_unavailable")
}

func needsTheRootsKey(tb testing.TB, s Subject) {
	one, two := root(tb, s, "one"), root(tb, s, "two")
	o := order(tb, one, edKey(tb))
	o.Issuer.Ref = two.Ref
	_, err := s.CA.Certify(tb.Context(), o)
	refused(tb, "an order to another key", err, fault.Unavailable, "ca_unavailable")
}
