package licensing_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"berth/application/licensing"
	"berth/domain/fault"
	"berth/ports/keywrap/keywraptest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// The pepper is made once, whoever asks first, is the same for every replica and after a restart, and is kept wrapped.
func TestPepperIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	found := make([][]byte, 16)
	var all sync.WaitGroup
	looked := &sync.WaitGroup{}
	looked.Add(len(found))
	for i := range found {
		l := w.replica(&together{Store: w.mem, looked: looked}, uint64(i+1))
		all.Go(func() {
			var err error
			if found[i], err = l.Pepper(w.ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, p := range found {
		if len(p) != 32 || !bytes.Equal(p, found[0]) {
			t.Fatalf("the pepper is %x here and %x there", p, found[0])
		}
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		wrapped, err := r.WrappedSecrets.Get(ctx, "license-pepper")
		if bytes.Contains(wrapped, found[0]) {
			t.Error("the pepper is kept in the clear")
		}
		log, auditErr := r.Audit.About(ctx, "wrapped-secret/license-pepper", 0, 10)
		if len(log) != 1 || log[0].Action != "wrapped_secret.created" || len(log[0].Detail) > 0 {
			t.Errorf("noted %+v", log)
		}
		return errors.Join(err, auditErr)
	})
	own, err := w.Pepper(w.ctx)
	w.must(err)
	own[0]++ // what was given is the caller's
	again, err := w.Pepper(w.ctx)
	w.must(err)
	if !bytes.Equal(again, found[0]) {
		t.Fatal("the caller's copy is the one that is remembered")
	}
}

// together is a store at which everybody has looked once before anybody goes on.
type together struct {
	store.Store
	looked *sync.WaitGroup
	once   sync.Once
}

func (s *together) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	err := s.Store.View(ctx, fn)
	s.once.Do(func() { s.looked.Done(); s.looked.Wait() })
	return err
}

// Once it was read the pepper is remembered: the market goes on while the keeper of the wrapping key is away. Without it
// nothing is made, and no key is hashed under nothing.
func TestPepperWithoutItsKeeper(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keeper.Break(errors.New("the keeper is away"))
	before := w.dump()
	_, err := w.CreateLicense(w.ctx, request())
	w.refused(err, fault.Unavailable, "keywrap_unavailable")
	w.same(before, "a license without a pepper")
	w.keeper.Break(nil)
	w.license()
	w.keeper.Break(errors.New("the keeper is away"))
	_, err = w.Pepper(w.ctx)
	w.must(err)
	_, err = w.replica(w.mem, 2).Pepper(w.ctx)
	w.refused(err, fault.Unavailable, "keywrap_unavailable")
}

// Another wrapping key does not make another pepper, which would lock every customer out: it is a defect that is told.
func TestPepperOfAnotherKeeper(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.license()
	other := w.replica(w.mem, 2)
	other.Wrapper = keywraptest.NewMemory(2)
	_, err := other.Pepper(w.ctx)
	w.refused(err, fault.Internal, "pepper_unreadable")
	_, err = other.CreateLicense(w.ctx, request())
	w.refused(err, fault.Internal, "pepper_unreadable")
}

// exchanged is a store in whose place another database comes.
type exchanged struct {
	store.Store
}

// A database that is exchanged beneath a running process has another pepper, or none: no key is kept there that was hashed
// under the old one, and the next attempt is made under the right one.
func TestPepperOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	behind := &exchanged{w.mem}
	l := w.replica(behind, 2)
	_, err := l.CreateLicense(w.ctx, request())
	w.must(err)
	fresh := newWorld(t)
	behind.Store = fresh.mem
	before := fresh.dump()
	_, err = l.CreateLicense(w.ctx, request())
	w.refused(err, fault.Unavailable, "pepper_changed")
	fresh.same(before, "a key under another pepper")
	made, err := l.CreateLicense(w.ctx, request())
	w.must(err)
	behind.Store = w.mem
	_, err = l.RotateKey(w.ctx, licensing.LicenseRequest{Actor: alice, License: w.dump().Licenses[0].ID})
	w.refused(err, fault.Unavailable, "pepper_changed")
	_, err = fresh.License(fresh.ctx, made.License.ID)
	w.must(err)
}

// A database that refuses to write leaves no pepper behind that anybody would use.
func TestPepperIsNotRememberedUnwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	away := &exchanged{unwritable{w.mem}}
	l := w.replica(away, 2)
	_, err := l.Pepper(w.ctx)
	w.refused(err, fault.Unavailable, "store_unavailable")
	own, err := w.Pepper(w.ctx)
	w.must(err)
	away.Store = w.mem
	got, err := l.Pepper(w.ctx)
	w.must(err)
	if !bytes.Equal(own, got) {
		t.Fatal("two peppers are in use")
	}
}

type unwritable struct{ *storetest.Memory }

func (unwritable) Atomically(context.Context, func(context.Context, *store.Roles) error) error {
	return store.Away(errors.New("read only"))
}
