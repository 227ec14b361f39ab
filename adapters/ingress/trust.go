package ingress

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"sync"
	"sync/atomic"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

const (
	maxRoots  = 64
	maxBundle = 1 << 20
)

// Trust is the bundle of roots that node certificates are verified against, as it is now. Its methods are safe for
// concurrent use. The zero value believes nobody.
type Trust struct {
	mu      sync.Mutex
	now     atomic.Pointer[bundle]
	changed func()
}

// bundle is one state of the trust bundle. Its version is its own: another bundle has another one.
type bundle struct {
	version uint64
	sum     [sha256.Size]byte
	pool    *x509.CertPool
	roots   int
	ends    time.Time // of the root that lasts longest
}

// Set replaces the bundle by the roots of a PEM text, and reports whether they are others than before. A text out of form
// leaves it as it was. Fault: Invalid trust_bundle_malformed.
func (t *Trust) Set(text []byte) (changed bool, err error) {
	next, err := parseBundle(text)
	if err != nil {
		return false, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.now.Load()
	if before != nil && before.sum == next.sum {
		return false, nil
	}
	next.version = 1
	if before != nil {
		next.version = before.version + 1
	}
	t.now.Store(next)
	if t.changed != nil {
		t.changed()
	}
	return true, nil
}

// onChange has f called after each change.
func (t *Trust) onChange(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = f
}

// Roots is how many roots are believed, and when the last of them ends.
func (t *Trust) Roots() (n int, ends time.Time) {
	if b := t.now.Load(); b != nil {
		return b.roots, b.ends
	}
	return 0, time.Time{}
}

// CheckBundle reads a trust bundle without using it. Fault: Invalid trust_bundle_malformed.
func CheckBundle(text []byte) error {
	_, err := parseBundle(text)
	return err
}

// parseBundle takes certificates of authorities and nothing else: what a reader passes over in silence is a root that an
// operator believes to be in force.
func parseBundle(text []byte) (*bundle, error) {
	if len(text) > maxBundle {
		return nil, malformedBundle("it is longer than a mebibyte")
	}
	b := &bundle{pool: x509.NewCertPool()}
	seen := map[[sha256.Size]byte]bool{}
	digest := sha256.New()
	for rest := bytes.TrimSpace(text); len(rest) > 0; rest = bytes.TrimSpace(rest) {
		der, after, ok := identity.NextBlock("CERTIFICATE", rest)
		if !ok {
			return nil, malformedBundle("it holds something other than whole PEM blocks of the type CERTIFICATE")
		}
		rest = after
		root, err := x509.ParseCertificate(der)
		if err != nil || !root.IsCA || !root.BasicConstraintsValid {
			return nil, malformedBundle("a certificate in it is not that of an authority").Because(err)
		}
		sum := sha256.Sum256(root.Raw)
		if seen[sum] {
			continue
		}
		seen[sum] = true
		b.add(root)
		digest.Write(sum[:])
	}
	if b.roots == 0 || b.roots > maxRoots {
		return nil, malformedBundle("it has no root, or more than 64")
	}
	digest.Sum(b.sum[:0])
	return b, nil
}

func (b *bundle) add(root *x509.Certificate) {
	b.pool.AddCert(root)
	b.roots++
	if root.NotAfter.After(b.ends) {
		b.ends = root.NotAfter
	}
}

func malformedBundle(why string) *fault.Error {
	return fault.New(fault.Invalid, "trust_bundle_malformed", "the trust bundle can not be used: %s", why).
		Curable("write it anew as PEM, each root as one CERTIFICATE block")
}
