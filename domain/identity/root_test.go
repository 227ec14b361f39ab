package identity_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

const certificateLife = 24 * time.Hour

func caWindows() identity.Windows {
	const skew = 5 * time.Second
	return identity.Windows{
		PublishAhead: 24 * time.Hour, SignFor: 10 * 24 * time.Hour, VerifyAfter: certificateLife + 2*skew, Skew: skew,
	}
}

// rootKey is a CA key with its root, as it is made at a time.
func rootKey(t tester, n int, now time.Time, change func(*x509.Certificate)) identity.NewKey {
	t.Helper()
	seed := sha256.Sum256([]byte(kid(n)))
	private := ed25519.NewKeyFromSeed(seed[:])
	validity := caWindows().Root(now)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(int64(n)), Subject: pkix.Name{CommonName: kid(n)}, NotBefore: validity.NotBefore,
		NotAfter: validity.NotAfter, IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	if change != nil {
		change(c)
	}
	der, err := x509.CreateCertificate(nil, c, c, private.Public(), private)
	must(t, err)
	public, _ := private.Public().(ed25519.PublicKey)
	return identity.NewKey{KID: kid(n), Purpose: identity.KeyForCA, PublicKey: public, Certificate: der, Ref: "file:" + kid(n)}
}

// A CA key has a root of its own that covers all of its windows, whichever turn it takes; other keys have none.
func TestCAKeysHaveRoots(t *testing.T) {
	t.Parallel()
	w := caWindows()
	made := start()
	for _, late := range []time.Duration{0, time.Second, 50 * time.Minute} { // from the root to the ring
		for _, notBefore := range []time.Time{made.Add(late - w.Skew), w.NotBefore(made.Add(late))} {
			k := rootKey(t, 1, made, nil)
			k.NotBefore = notBefore
			key, err := identity.NewSigningKey(k, w, made.Add(late))
			must(t, err)
			if got := key.Record().Certificate; string(got) != string(k.Certificate) {
				t.Errorf("the root is kept as %x", got)
			}
		}
	}
	for what, change := range map[string]func(*identity.NewKey){
		"none":      func(k *identity.NewKey) { k.Certificate = nil },
		"garbage":   func(k *identity.NewKey) { k.Certificate = []byte("root") },
		"another's": func(k *identity.NewKey) { k.Certificate = rootKey(t, 2, made, nil).Certificate },
		"too short": func(k *identity.NewKey) {
			k.Certificate = rootKey(t, 1, made, func(c *x509.Certificate) { c.NotAfter = made.Add(w.SignFor) }).Certificate
		},
		"not valid yet": func(k *identity.NewKey) {
			k.Certificate = rootKey(t, 1, made, func(c *x509.Certificate) { c.NotBefore = made.Add(time.Second) }).Certificate
		},
		"signs for other CAs": func(k *identity.NewKey) {
			k.Certificate = rootKey(t, 1, made, func(c *x509.Certificate) { c.MaxPathLenZero = false }).Certificate
		},
		"no CA": func(k *identity.NewKey) {
			k.Certificate = rootKey(t, 1, made, func(c *x509.Certificate) { c.IsCA, c.MaxPathLenZero = false, false }).Certificate
		},
		"for tokens": func(k *identity.NewKey) { k.Purpose = identity.KeyForDeviceTokens },
	} {
		k := rootKey(t, 1, made, nil)
		k.NotBefore = made
		change(&k)
		if _, err := identity.NewSigningKey(k, w, made); fault.SlugOf(err) != "root_certificate_invalid" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// authority is a CA that keeps its ring, and the certificates it signed.
type authority struct {
	ring   *identity.KeyRing
	now    time.Time
	made   int
	issued []issued
}

type issued struct {
	kid string
	identity.Validity
}

func (a *authority) settle(t tester) {
	t.Helper()
	w := caWindows()
	for plan := a.ring.Plan(a.now, w); len(plan) > 0; plan = a.ring.Plan(a.now, w) {
		for _, action := range plan {
			if action.Kind != identity.ActionNewKey {
				must(t, errOf(a.ring.Do(action, a.now)))
				continue
			}
			a.add(t, action.NotBefore)
		}
	}
}

func (a *authority) add(t tester, notBefore time.Time) {
	t.Helper()
	a.made++
	k := rootKey(t, a.made, a.now, nil)
	k.NotBefore = notBefore
	key, err := identity.NewSigningKey(k, caWindows(), a.now)
	must(t, err)
	must(t, a.ring.Add(key))
}

func (a *authority) issue() {
	key, err := a.ring.Signing(a.now)
	if err != nil {
		return
	}
	a.issued = append(a.issued, issued{key.KID, key.Dates(a.now, certificateLife)})
}

// check holds at every instant: whatever certificate has not ended has its root in the bundle, and that root has not
// ended either, by clocks that differ by the skew, unless the key was compromised.
func (a *authority) check(t tester) {
	t.Helper()
	skew := caWindows().Skew
	for _, clock := range []time.Time{a.now, a.now.Add(skew), a.now.Add(-skew)} {
		roots := map[string]*x509.Certificate{}
		for _, r := range a.ring.Published(clock) {
			root, err := x509.ParseCertificate(r.Certificate)
			must(t, err)
			roots[r.KID] = root
		}
		for _, c := range a.issued {
			if state := a.stateOf(c.kid); state == identity.KeyCompromised && roots[c.kid] != nil {
				t.Fatalf("%s is compromised, and in the bundle", c.kid)
			} else if state == identity.KeyCompromised || !a.now.Before(c.NotAfter) {
				continue
			}
			root := roots[c.kid]
			if root == nil || clock.Before(root.NotBefore) || !clock.Before(root.NotAfter) {
				t.Fatalf("at %v a certificate until %v of %s chains to %v", clock, c.NotAfter, c.kid, root)
			}
		}
	}
}

func (a *authority) stateOf(kid string) identity.KeyState {
	for _, r := range a.ring.Records() {
		if r.KID == kid {
			return r.State
		}
	}
	return ""
}

// Through any history of the CA, at every instant every certificate that has not ended chains to a root in the bundle,
// unless its key was compromised (I5).
func TestBundleCoversEveryCertificate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := &authority{ring: identity.RestoreKeyRing(identity.KeyForCA, nil), now: start()}
		t.Repeat(map[string]func(*rapid.T){
			"pass": func(t *rapid.T) {
				a.now = a.now.Add(time.Duration(rapid.Int64Range(1, int64(3*24*time.Hour)).Draw(t, "by")))
			},
			"settle":           func(t *rapid.T) { a.settle(t) },
			"settle and issue": func(t *rapid.T) { a.settle(t); a.issue() },
			"issue":            func(*rapid.T) { a.issue() },
			"rotate":           func(t *rapid.T) { a.add(t, caWindows().NotBefore(a.now)) },
			"compromise": func(t *rapid.T) {
				if a.made > 0 {
					must(t, errOf(a.ring.Compromise(kid(rapid.IntRange(1, a.made).Draw(t, "key")), a.now)))
				}
			},
			"": func(t *rapid.T) { a.check(t) },
		})
	})
}

// While the keys are kept, there is always a CA that signs for a whole life, and every root but the first was published
// for PublishAhead before it signed.
func TestCANeverStandsStill(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		steps := rand.New(rand.NewPCG(seed, seed))
		a := &authority{ring: identity.RestoreKeyRing(identity.KeyForCA, nil), now: start()}
		for range 60 {
			a.settle(t)
			a.issue()
			last := a.issued[len(a.issued)-1]
			if last.NotAfter.Sub(a.now) < certificateLife-time.Second {
				t.Fatalf("a certificate signed at %v ends at %v", a.now, last.NotAfter)
			}
			key, err := a.ring.Signing(a.now)
			must(t, err)
			if key.KID != kid(1) && a.now.Sub(key.CreatedAt) < caWindows().PublishAhead {
				t.Fatalf("%s signed %v after it was made", key.KID, a.now.Sub(key.CreatedAt))
			}
			a.check(t)
			a.now = a.now.Add(time.Duration(steps.Int64N(int64(12 * time.Hour))))
		}
	})
}

// A certificate never lives longer than its CA is believed, and is renewed at half of its life.
func TestDates(t *testing.T) {
	t.Parallel()
	now := start().Add(300 * time.Millisecond)
	for _, c := range []struct {
		believed, want time.Time
	}{
		{now.Add(25 * time.Hour), start().Add(24 * time.Hour)},
		{now.Add(time.Hour), start().Add(time.Hour)},
	} {
		v := identity.SigningKeyRecord{VerifyUntil: c.believed}.Dates(now, certificateLife)
		if !v.NotBefore.Equal(start().Add(-time.Minute)) || !v.NotAfter.Equal(c.want) {
			t.Errorf("dated %+v, want an end at %v", v, c.want)
		}
		if half := v.RenewAfter(); half.Sub(v.NotBefore) != v.NotAfter.Sub(half) {
			t.Errorf("%+v is renewed at %v", v, half)
		}
	}
}
