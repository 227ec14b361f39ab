package catest

import (
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"testing"
	"time"

	"berth/ports/ca"
	"berth/ports/internal/law"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
)

func subject(testing.TB) (Subject, *Memory) {
	keys := signertest.NewMemory(1)
	m := NewMemory(keys)
	return Subject{CA: m, Keys: keys, Break: m.Break}, m
}

// The authority in memory keeps every law.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	Run(t, func(tb testing.TB) Subject {
		s, _ := subject(tb)
		return s
	})
}

// Whoever waits for the moment after a signature is called then, and only for what was signed.
func TestMemoryTellsWhenItSigned(t *testing.T) {
	t.Parallel()
	s, m := subject(t)
	by := root(t, s, "one")
	calls := 0
	m.WhenSigned(func() { calls++ })
	certify(t, s, order(t, by, edKey(t)))
	m.Break(errors.New("away"))
	_, err := s.CA.Certify(t.Context(), order(t, by, edKey(t)))
	if err == nil || calls != 1 {
		t.Fatalf("called %d times, %v", calls, err)
	}
}

// mutant is Memory with some calls replaced.
type mutant struct {
	*Memory
	certify  func(context.Context, ca.Order) (ca.Issued, error)
	selfSign func(context.Context, ca.Root) ([]byte, error)
}

func (m *mutant) Certify(ctx context.Context, o ca.Order) (ca.Issued, error) {
	if m.certify != nil {
		return m.certify(ctx, o)
	}
	return m.Memory.Certify(ctx, o)
}

func (m *mutant) SelfSign(ctx context.Context, r ca.Root) ([]byte, error) {
	if m.selfSign != nil {
		return m.selfSign(ctx, r)
	}
	return m.Memory.SelfSign(ctx, r)
}

// Each mutant is the authority in memory with one fault, and the law that forbids the fault notices it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	const (
		says, lasts, tls = "a certificate says what was ordered and nothing else",
			"a certificate verifies against its root through all of its life", "a certificate is for both ends of TLS"
		taken, wide, orders = "a root is one that a key ring takes", "a root signs for its trust domain only", "what no node may have is refused"
		away, context       = "an authority that is away says so, and comes back", "an ended context is heeded by every method"
	)
	leaf := func(change func(*x509.Certificate)) func(*mutant) { return func(m *mutant) { m.leaf = change } }
	rootly := func(change func(*x509.Certificate)) func(*mutant) { return func(m *mutant) { m.root = change } }
	for _, c := range []struct {
		name, law string
		spoil     func(*mutant)
	}{
		{"adds a DNS name", says, leaf(func(c *x509.Certificate) { c.DNSNames = []string{"n1"} })},
		{"adds a subject", says, leaf(func(c *x509.Certificate) { c.Subject = pkix.Name{CommonName: "n1"} })},
		{"signs for longer", says, leaf(func(c *x509.Certificate) { c.NotAfter = c.NotAfter.Add(time.Hour) })},
		{"signs for later", says, leaf(func(c *x509.Certificate) { c.NotBefore = c.NotBefore.Add(time.Second) })},
		{"makes another authority", says, leaf(func(c *x509.Certificate) { c.IsCA = true })},
		{"signs by another key", lasts, func(m *mutant) { m.certify = byAnotherRoot(m) }},
		{"is for clients only", tls, leaf(func(c *x509.Certificate) { c.ExtKeyUsage = c.ExtKeyUsage[:1] })},
		{"names no issuer's key", "certificates and roots name their keys", func(m *mutant) {
			m.certify = func(ctx ctx, o ca.Order) (ca.Issued, error) {
				return ca.Issued{Certificate: rootOfAnother(m, o)}, nil
			}
		}},
		{"counts its serial numbers", "a serial number is positive and the order's own", leaf(func(c *x509.Certificate) {
			c.SerialNumber = big.NewInt(1)
		})},
		{"has roots that end early", taken, rootly(func(c *x509.Certificate) { c.NotAfter = c.NotBefore.Add(time.Hour) })},
		{"has roots that sign lists", taken, rootly(func(c *x509.Certificate) { c.KeyUsage |= x509.KeyUsageCRLSign })},
		{"has roots without end of path", "a root signs for no further authority", rootly(func(c *x509.Certificate) { c.MaxPathLenZero = false })},
		{"has roots for every domain", wide, rootly(func(c *x509.Certificate) { c.PermittedURIDomains = nil })},
		{"has constraints that nobody need heed", wide, rootly(func(c *x509.Certificate) { c.PermittedDNSDomainsCritical = false })},
		{"has one name for all roots", "roots are told apart", rootly(func(c *x509.Certificate) { c.Subject.CommonName = "CA" })},
		{"signs for any key", orders, leaf(func(*x509.Certificate) {})},
		{"signs for what is over", "nothing outlives its issuer", func(m *mutant) {
			m.certify = func(ctx ctx, o ca.Order) (ca.Issued, error) {
				return m.Memory.Certify(ctx, clamped(o))
			}
		}},
		{"loses the cause", away, func(m *mutant) {
			m.certify = func(ctx ctx, o ca.Order) (ca.Issued, error) {
				issued, err := m.Memory.Certify(ctx, o)
				if err != nil {
					err = ca.Away(nil)
				}
				return issued, err
			}
		}},
		{"never comes back", away, func(m *mutant) {
			var failed error
			m.certify = func(ctx ctx, o ca.Order) (ca.Issued, error) {
				issued, err := m.Memory.Certify(ctx, o)
				if failed == nil {
					failed = err
				}
				return issued, failed
			}
		}},
		{"goes on when nobody waits", context, func(m *mutant) {
			m.certify = func(ctx ctx, o ca.Order) (ca.Issued, error) { return m.Memory.Certify(withoutCancel(ctx), o) }
		}},
		{"makes roots when nobody waits", context, func(m *mutant) {
			m.selfSign = func(ctx ctx, r ca.Root) ([]byte, error) { return m.Memory.SelfSign(withoutCancel(ctx), r) }
		}},
		{"takes a lost key for a bad order", "a key that is gone signs nothing", badOrder},
		{"takes a wrong key for a bad order", "another key than the root's signs nothing", badOrder},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, laws(), c.law, func(tb testing.TB) Subject {
				s, memory := subject(tb)
				m := &mutant{Memory: memory}
				c.spoil(m)
				s.CA = m
				return s
			})
		})
	}
}

type ctx = context.Context

func withoutCancel(c ctx) ctx { return context.WithoutCancel(c) }

func badOrder(m *mutant) {
	m.certify = func(c ctx, o ca.Order) (ca.Issued, error) {
		issued, err := m.Memory.Certify(c, o)
		if err != nil {
			err = ca.Refused("no")
		}
		return issued, err
	}
}

// clamped is an order that fits its issuer, whatever was ordered.
func clamped(o ca.Order) ca.Order {
	if root, err := x509.ParseCertificate(o.Issuer.Root); err == nil {
		if o.Validity.NotAfter.After(root.NotAfter) {
			o.Validity.NotAfter = root.NotAfter
		}
		if o.Validity.NotBefore.Before(root.NotBefore) {
			o.Validity.NotBefore = root.NotBefore
		}
	}
	return o
}

// another makes an authority of its own to sign an order.
func another(o ca.Order) ca.Order {
	keys := signertest.NewMemory(2)
	ref, public, _ := keys.Create(context.Background(), signer.CA)
	der, _ := NewMemory(keys).SelfSign(context.Background(), ca.Root{
		Ref: ref, Public: public, Name: "another", TrustDomain: domain, Validity: windows().Root(now()),
	})
	o.Issuer = ca.Issuer{Ref: ref, Root: der}
	return o
}

func byAnotherRoot(*mutant) func(ctx, ca.Order) (ca.Issued, error) {
	return func(c ctx, o ca.Order) (ca.Issued, error) {
		keys := signertest.NewMemory(2)
		_, _, _ = keys.Create(c, signer.CA)
		return NewMemory(keys).Certify(c, another(o))
	}
}

func rootOfAnother(m *mutant, o ca.Order) []byte {
	issued, _ := byAnotherRoot(m)(context.Background(), o)
	return issued.Certificate
}
