package trust_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/signer"
	"berth/ports/signer/signertest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// keyStates counts the keys by state.
func (w *world) keyStates() map[identity.KeyState]int {
	w.t.Helper()
	keys, err := w.SigningKeys(w.ctx)
	w.must(err)
	out := map[identity.KeyState]int{}
	for _, k := range keys {
		out[k.State]++
	}
	return out
}

func (w *world) active() identity.SigningKeyRecord {
	w.t.Helper()
	keys, err := w.SigningKeys(w.ctx)
	w.must(err)
	var found []identity.SigningKeyRecord
	for _, k := range keys {
		if k.State == identity.KeyActive {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		w.t.Fatalf("%d keys are active", len(found))
	}
	return found[0]
}

// At the very start one run makes a key that signs at once; the next finds nothing to do and begins no transaction.
func TestKeepKeysAtTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := w.dump().Audit.Sequence
	w.mem.Inject(storetest.Faults{Twice: true})
	w.must(w.KeepKeys(w.ctx))
	key := w.active()
	public, err := w.kms.Public(w.ctx, signer.KeyRef(key.Ref))
	w.must(err)
	if !public.Equal(ed25519.PublicKey(key.PublicKey)) || key.Purpose != identity.KeyForDeviceTokens ||
		!key.SignUntil.Equal(noon.Add(w.Settings.Windows.SignFor)) {
		t.Fatalf("the key is %+v", key)
	}
	w.wantActions(since, "signing_key.created", "signing_key.activated")
	before := w.dump()
	w.must(w.KeepKeys(w.ctx))
	w.untouched(before, "a run with nothing to do")
}

// Left to itself for a long time the ring always has exactly one key that may sign, every key was published ahead by the
// time it signs, and each ends; the private halves are never many.
func TestKeysTakeTheirTurns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	windows := identity.Windows{PublishAhead: 10 * time.Minute, SignFor: time.Hour, VerifyAfter: 15 * time.Minute, Skew: 30 * time.Second}
	w.Settings.Windows = windows
	published := map[string]time.Time{}
	signed := map[string]bool{}
	for range 100 {
		w.must(w.KeepKeys(w.ctx))
		now := w.clock.Now()
		keys, err := w.JWKS(w.ctx)
		w.must(err)
		for _, k := range keys {
			if _, known := published[k.KID]; !known {
				published[k.KID] = now
			}
		}
		active := w.active()
		if now.Before(active.NotBefore) || !now.Before(active.SignUntil) {
			t.Fatalf("at %s the active key is %+v", now, active)
		}
		if first := published[active.KID]; len(signed) > 0 && !signed[active.KID] && now.Sub(first) < windows.PublishAhead {
			t.Fatalf("a key signs that was published %s ago", now.Sub(first))
		}
		signed[active.KID] = true
		w.clock.Advance(windows.PublishAhead / 2)
	}
	if got := w.keyStates(); len(signed) < 8 || got[identity.KeyRetired] < 6 || got[identity.KeyRetiring] > 1 {
		t.Fatalf("%d keys signed; %v", len(signed), got)
	}
}

// Any number of replicas that keep the keys at once, and operators that rotate meanwhile, end with one active key, at
// most one that waits, and no key in the signing service that no ring knows.
func TestKeepKeysAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kms := &made{Memory: w.kms}
	replicas := []*trust.Trust{w.Trust, w.replica(2), w.replica(3)}
	for _, r := range replicas {
		r.Signer = kms
	}
	for _, rotate := range []bool{false, true} {
		var all sync.WaitGroup
		errs := make([]error, 24)
		for i := range errs {
			all.Go(func() {
				if rotate && i%2 == 0 {
					_, errs[i] = replicas[i%3].RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
					return
				}
				errs[i] = replicas[i%3].KeepKeys(w.ctx)
			})
		}
		all.Wait()
		w.must(errors.Join(errs...))
		want := map[identity.KeyState]int{identity.KeyActive: 1}
		if rotate {
			want[identity.KeyPending] = 1
		}
		if got := w.keyStates(); got[identity.KeyActive] != 1 || got[identity.KeyPending] != want[identity.KeyPending] || len(got) != len(want) {
			t.Fatalf("the states are %v, want %v", got, want)
		}
	}
	keys, err := w.SigningKeys(w.ctx)
	w.must(err)
	if alive := kms.alive(w); alive != len(keys) {
		t.Fatalf("%d keys are alive in the signing service, the rings know %d", alive, len(keys))
	}
}

// made remembers what a signer made.
type made struct {
	*signertest.Memory
	mu   sync.Mutex
	refs []signer.KeyRef
}

func (m *made) Create(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
	ref, public, err := m.Memory.Create(ctx, p)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refs = append(m.refs, ref)
	return ref, public, err
}

func (m *made) alive(w *world) (n int) {
	for _, ref := range m.refs {
		if _, err := m.Public(w.ctx, ref); err == nil {
			n++
		}
	}
	return n
}

// overtaken is a signing service in which something else happens once while it makes a key.
type overtaken struct {
	*made
	once   sync.Once
	meddle func()
}

func (o *overtaken) Create(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
	ref, public, err := o.made.Create(ctx, p)
	o.once.Do(o.meddle)
	return ref, public, err
}

// A key that another replica made superfluous in the meantime is destroyed, and the other's is answered.
func TestKeyThatComesTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kms := &made{Memory: w.kms}
	other := w.replica(2)
	other.Signer = kms
	w.Signer = &overtaken{made: kms, meddle: func() { w.must(other.KeepKeys(w.ctx)) }}
	w.must(w.KeepKeys(w.ctx))
	if got := w.keyStates(); got[identity.KeyActive] != 1 || len(got) != 1 || kms.alive(w) != 1 {
		t.Fatalf("%v, and %d alive", got, kms.alive(w))
	}
	var first identity.SigningKeyRecord
	w.Signer = &overtaken{made: kms, meddle: func() {
		var err error
		first, err = other.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
		w.must(err)
	}}
	second, err := w.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
	w.must(err)
	if got := w.keyStates(); second.KID != first.KID || got[identity.KeyPending] != 1 || kms.alive(w) != 2 {
		t.Fatalf("%s and %s; %v, and %d alive", first.KID, second.KID, got, kms.alive(w))
	}
}

// The signing service is never called within a transaction.
func TestKeysAreMadeOutsideTransactions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	inside := &insider{Store: w.mem}
	w.Store = inside
	w.Signer = outsider{w.kms, inside, t}
	w.must(w.KeepKeys(w.ctx))
	_, err := w.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
	w.must(err)
	_, err = w.CompromiseSigningKey(w.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: w.active().KID})
	w.must(err)
}

// insider knows whether a transaction is under way; it is for one goroutine.
type insider struct {
	store.Store
	in bool
}

func (s *insider) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	s.in = true
	defer func() { s.in = false }()
	return s.Store.Atomically(ctx, fn)
}

func (s *insider) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	s.in = true
	defer func() { s.in = false }()
	return s.Store.View(ctx, fn)
}

type outsider struct {
	signer.Keys
	store *insider
	t     *testing.T
}

func (o outsider) Create(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
	if o.store.in {
		o.t.Error("a key is made within a transaction")
	}
	return o.Keys.Create(ctx, p)
}

// A rotation publishes the next key at once and lets it sign after its time; asking again in between returns the same.
func TestRotateSigningKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
	w.must(err)
	if first.State != identity.KeyActive {
		t.Fatalf("where nothing can sign, the new key is %s", first.State)
	}
	since := w.dump().Audit.Sequence
	next, err := w.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
	w.must(err)
	if next.State != identity.KeyPending || w.active().KID != first.KID {
		t.Fatalf("the next key is %+v", next)
	}
	w.wantActions(since, "signing_key.created")
	before := w.dump()
	again, err := w.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
	w.must(err)
	if again.KID != next.KID {
		t.Fatalf("asked again, another key is made: %s", again.KID)
	}
	w.same(before, "a second rotation")
	jwks, err := w.JWKS(w.ctx)
	w.must(err)
	if len(jwks) != 2 || jwks[0].KID != first.KID || jwks[1].KID != next.KID {
		t.Fatalf("published are %+v", jwks)
	}
	w.clock.Advance(w.Settings.Windows.PublishAhead)
	w.must(w.KeepKeys(w.ctx))
	if w.active().KID != next.KID || w.keyStates()[identity.KeyRetiring] != 1 {
		t.Fatalf("the states are %v", w.keyStates())
	}
}

// A key that is compromised ends at once, a new one signs at once, and doing it again changes nothing.
func TestCompromiseSigningKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.KeepKeys(w.ctx))
	stolen := w.active()
	since := w.dump().Audit.Sequence
	in := trust.CompromiseSigningKeyRequest{Actor: alice, KID: stolen.KID, Reason: "seen in a paste"}
	out, err := w.CompromiseSigningKey(w.ctx, in)
	w.must(err)
	if out.Key.State != identity.KeyCompromised || out.Active == nil || out.Active.KID == stolen.KID || out.Active.KID != w.active().KID {
		t.Fatalf("answered %+v", out)
	}
	w.wantActions(since, "signing_key.compromised", "signing_key.created", "signing_key.activated")
	jwks, err := w.JWKS(w.ctx)
	w.must(err)
	if len(jwks) != 1 || jwks[0].KID != out.Active.KID {
		t.Fatalf("published are %+v", jwks)
	}
	before := w.dump()
	again, err := w.CompromiseSigningKey(w.ctx, in)
	w.must(err)
	if again.Active.KID != out.Active.KID {
		t.Fatalf("answered %+v", again)
	}
	w.same(before, "a second compromise")
	_, err = w.CompromiseSigningKey(w.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: "nobody's"})
	w.refused(err, fault.NotFound, "signing_key_not_found")
}

// A key ends although the signing service is away, and the next run makes its successor.
func TestCompromiseWithoutSigner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.KeepKeys(w.ctx))
	w.kms.Break(errors.New("gone"))
	out, err := w.CompromiseSigningKey(w.ctx, trust.CompromiseSigningKeyRequest{Actor: alice, KID: w.active().KID})
	w.must(err)
	if out.Key.State != identity.KeyCompromised || out.Active != nil {
		t.Fatalf("answered %+v", out)
	}
	w.refused(w.KeepKeys(w.ctx), fault.Unavailable, "signer_unavailable")
	_, err = w.RotateSigningKey(w.ctx, trust.RotateSigningKeyRequest{Actor: alice})
	w.refused(err, fault.Unavailable, "signer_unavailable")
	w.kms.Break(nil)
	w.must(w.KeepKeys(w.ctx))
	w.active()
}

// What needs no new key is done although the signing service is away: a key past its time stops signing.
func TestKeepKeysWithoutSigner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.must(w.KeepKeys(w.ctx))
	w.kms.Break(errors.New("gone"))
	w.clock.Advance(w.Settings.Windows.SignFor)
	w.refused(w.KeepKeys(w.ctx), fault.Unavailable, "signer_unavailable")
	if got := w.keyStates(); got[identity.KeyRetiring] != 1 || got[identity.KeyActive] != 0 {
		t.Fatalf("the states are %v", got)
	}
}

// A run that the store fails leaves the ring as it was; a key that may be in it is not destroyed.
func TestKeepKeysWhoseCommitFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.dump()
	w.mem.Inject(storetest.Faults{Commit: storetest.Always(storetest.Unavailable())})
	w.refused(w.KeepKeys(w.ctx), fault.Unavailable, "store_unavailable")
	w.mem.Inject(storetest.Faults{})
	w.same(before, "a run whose commit failed")
	w.mem.Inject(storetest.Faults{Answer: storetest.Always(storetest.CommitUnknown())})
	w.refused(w.KeepKeys(w.ctx), fault.Unavailable, "commit_unknown")
	w.mem.Inject(storetest.Faults{})
	_, err := w.kms.Public(w.ctx, signer.KeyRef(w.active().Ref))
	w.must(err)
}

// The JWKS holds keys for device tokens only (I9).
func TestJWKSHoldsOnePurpose(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(func(ctx context.Context, r *store.Roles) error {
		return r.Keys.Create(ctx, identity.RestoreSigningKey(identity.SigningKeyRecord{
			KID: "package-1", Purpose: identity.KeyForPackages, State: identity.KeyActive, PublicKey: make([]byte, 32), Ref: "x",
			NotBefore: noon.Add(-time.Hour), SignUntil: noon.Add(time.Hour), VerifyUntil: noon.Add(2 * time.Hour), CreatedAt: noon,
		}))
	})
	w.must(w.KeepKeys(w.ctx))
	jwks, err := w.JWKS(w.ctx)
	w.must(err)
	all, err := w.SigningKeys(w.ctx)
	w.must(err)
	if len(jwks) != 1 || jwks[0].Purpose != identity.KeyForDeviceTokens || len(all) != 2 {
		t.Fatalf("published are %+v of %d", jwks, len(all))
	}
}
