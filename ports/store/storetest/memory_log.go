package storetest

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/ident"
	"berth/ports/store"
)

type entries struct{ *tx }

func (e entries) Append(ctx context.Context, d audit.Draft) error {
	if err := e.writing(); err != nil {
		return err
	}
	if err := d.Check(); err != nil {
		return err
	}
	head, err := e.Head(ctx)
	if err != nil {
		return err
	}
	sealed := audit.Seal(head, d)
	e.state.audit = e.state.audit.put(number(sealed.Sequence), sealed)
	return nil
}

func (e entries) Head(context.Context) (audit.Head, error) {
	if err := e.reading(); err != nil {
		return audit.Head{}, err
	}
	last, _ := e.state.audit.last()
	return last.Head(), nil
}

func (e entries) Range(_ context.Context, after int64, limit int) ([]audit.Entry, error) {
	return e.list(after, limit, anything)
}

func (e entries) About(_ context.Context, subject string, after int64, limit int) ([]audit.Entry, error) {
	return e.list(after, limit, func(v audit.Entry) bool { return v.Subject == subject }, subject)
}

func (e entries) list(after int64, limit int, passes func(audit.Entry) bool, keys ...string) ([]audit.Entry, error) {
	if err := e.reading(keys...); err != nil {
		return nil, err
	}
	found := e.state.audit.pick(number(after), max(limit, 1), passes)
	for i := range found {
		found[i] = own(found[i])
	}
	return found, nil
}

type idempotency struct{ *tx }

func (i idempotency) Begin(_ context.Context, o store.Once) (*store.Once, error) {
	o, err := adopt(store.Once{Scope: o.Scope, Key: o.Key, Digest: o.Digest, CreatedAt: o.CreatedAt})
	if err != nil {
		return nil, err
	}
	if err := i.writing(); err != nil {
		return nil, err
	}
	key := compound(o.Scope, o.Key)
	if there, found := i.once.get(key); found {
		there = own(there)
		return &there, store.Taken("once")
	}
	i.once = i.once.put(key, o)
	return nil, nil //nolint:nilnil // the contract: nothing was there
}

func (i idempotency) Finish(_ context.Context, o store.Once) error {
	o, err := adopt(o)
	if err != nil {
		return err
	}
	if err := i.writing(); err != nil {
		return err
	}
	key := compound(o.Scope, o.Key)
	there, found := i.once.get(key)
	if !found {
		return store.Missing("once")
	}
	there.Done, there.Status, there.Header, there.Body = true, o.Status, o.Header, o.Body
	i.once = i.once.put(key, there)
	return nil
}

func (i idempotency) Release(_ context.Context, scope, key string) error {
	if err := i.writing(scope, key); err != nil {
		return err
	}
	if there, found := i.once.get(compound(scope, key)); found && !there.Done {
		i.once = i.once.remove(compound(scope, key))
	}
	return nil
}

func (i idempotency) Sweep(_ context.Context, before time.Time, limit int) (int, error) {
	if err := i.writing(); err != nil {
		return 0, err
	}
	return i.once.sweep(limit, func(o store.Once) bool { return o.CreatedAt.Before(ident.Instant(before)) }), nil
}
