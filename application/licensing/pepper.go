package licensing

import (
	"bytes"
	"context"

	"berth/domain/audit"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

const (
	pepperName    = "license-pepper"
	pepperBinding = "pepper/license"
)

// pepper is the key under which license keys are hashed, as it is kept and in the clear.
type pepper struct{ wrapped, clear []byte }

// Pepper returns the PepperSize bytes under which license keys are hashed (E1). They are made once, kept wrapped, and
// remembered once they were unwrapped. Faults: Unavailable keywrap_unavailable, and those of the store; Internal
// pepper_unreadable where the wrapping key is another than it was, which an operator has to put right.
func (l *Licensing) Pepper(ctx context.Context) ([]byte, error) {
	p, err := l.peppered(ctx)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(p.clear), nil
}

func (l *Licensing) peppered(ctx context.Context) (*pepper, error) {
	if p := l.pepper.Load(); p != nil {
		return p, nil
	}
	wrapped, err := l.wrappedPepper(ctx)
	if fault.SlugOf(err) == "wrapped_secret_not_found" {
		wrapped, err = l.makePepper(ctx)
	}
	if err != nil {
		return nil, err
	}
	clear, err := l.Wrapper.Unwrap(ctx, pepperBinding, wrapped)
	switch {
	case fault.KindOf(err) == fault.Unavailable && err != nil:
		return nil, err
	case err != nil || len(clear) != entitlement.PepperSize:
		return nil, fault.New(fault.Internal, "pepper_unreadable",
			"what license keys are hashed under does not open with the present wrapping key").Because(err)
	}
	p := &pepper{wrapped, clear}
	l.pepper.Store(p)
	return p, nil
}

func (l *Licensing) wrappedPepper(ctx context.Context) (wrapped []byte, err error) {
	err = l.Store.View(ctx, func(ctx context.Context, r *store.Roles) (err error) {
		wrapped, err = r.WrappedSecrets.Get(ctx, pepperName)
		return err
	})
	return wrapped, err
}

// makePepper wraps outside the transaction; of several replicas that do so at once the first is kept, by all.
func (l *Licensing) makePepper(ctx context.Context) ([]byte, error) {
	wrapped, err := l.Wrapper.Wrap(ctx, pepperBinding, l.IDs.Secret(entitlement.PepperSize))
	if err != nil {
		return nil, err
	}
	itself := audit.Actor{Kind: audit.ActorSystem, ID: "berth", Source: "licensing"}
	err = l.commit(ctx, itself, func(ctx context.Context, w *work) error {
		if err := w.WrappedSecrets.Create(ctx, pepperName, wrapped); err != nil {
			return err
		}
		return w.note(ctx, "wrapped_secret.created", "wrapped-secret/"+pepperName, nil)
	})
	if fault.SlugOf(err) == "wrapped_secret_exists" {
		return l.wrappedPepper(ctx)
	}
	return wrapped, err
}

// still makes sure that a key is kept only beside the pepper that it was hashed under: another database may have come in
// place of the one that the remembered pepper is of. Fault: Unavailable pepper_changed, after which the next attempt reads
// it anew.
func (l *Licensing) still(ctx context.Context, w *work, p *pepper) error {
	wrapped, err := w.WrappedSecrets.Get(ctx, pepperName)
	if err != nil && fault.SlugOf(err) != "wrapped_secret_not_found" {
		return err
	}
	if err == nil && bytes.Equal(wrapped, p.wrapped) {
		return nil
	}
	l.pepper.CompareAndSwap(p, nil)
	return fault.New(fault.Unavailable, "pepper_changed", "what license keys are hashed under is another than it was").
		After(store.RetryAfter)
}
