package market_test

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"berth/application/market"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/fault"
	"berth/ports/store"
)

// reads counts what is read of a store, by role.
type reads struct {
	store.Store
	deployments, licenses int
}

func (s *reads) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	return s.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		counted := *r
		counted.Deployments = countedDeployments{r.Deployments, &s.deployments}
		counted.Licenses = countedLicenses{r.Licenses, &s.licenses}
		return fn(ctx, &counted)
	})
}

type countedDeployments struct {
	store.Deployments
	n *int
}

func (c countedDeployments) Get(ctx context.Context, id string) (*delivery.Deployment, error) {
	*c.n++
	return c.Deployments.Get(ctx, id)
}

type countedLicenses struct {
	store.Licenses
	n *int
}

func (c countedLicenses) Get(ctx context.Context, id string) (*entitlement.License, error) {
	*c.n++
	return c.Licenses.Get(ctx, id)
}

// Whatever is wrong with credentials, the refusal is one and the same, and so is what is read for it; a right pair reads
// as much.
func TestEveryWrongPairIsRefusedTheSame(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.license("lic_2")
	w.license("lic_3")
	w.deployment("ins_2", "lic_2")
	w.do(func(ctx context.Context, r *store.Roles) error {
		return store.UpdateIn[*entitlement.License](ctx, r.Licenses, "lic_2", func(l *entitlement.License) error { return l.Revoke(noon) })
	})
	counted := &reads{Store: w.mem}
	w.Market.Store = counted
	w.caller(install, license)
	want := *counted
	var first *fault.Error
	for name, c := range map[string]market.Credentials{
		"nothing":               {},
		"no key":                {Install: install},
		"no install id":         {Key: key(license)},
		"an unknown install id": {Install: "ins_unknown", Key: key(license)},
		"a strange install id":  {Install: "ins_1' OR 1=1", Key: key(license)},
		"a long install id":     {Install: strings.Repeat("a", 10_000), Key: key(license)},
		"NUL":                   {Install: install + "\x00", Key: key(license)},
		"a wrong key":           {Install: install, Key: key("lic_9")},
		"another license's key": {Install: install, Key: key("lic_3")},
		"a key and some more":   {Install: install, Key: key(license) + "a"},
		"a long key":            {Install: install, Key: strings.Repeat("a", 10_000)},
		"a revoked license":     {Install: "ins_2", Key: key("lic_2")},
	} {
		counted.deployments, counted.licenses = 0, 0
		_, err := w.Authenticate(w.ctx, c)
		f, _ := fault.As(err)
		if f == nil || f.Kind != fault.Unauthenticated || f.Slug != "credentials_unknown" || first != nil && !reflect.DeepEqual(f, first) {
			t.Errorf("%s: %+v", name, f)
		}
		if first == nil {
			first = f
		}
		if counted.deployments != want.deployments || counted.licenses != want.licenses {
			t.Errorf("%s reads %d and %d, a right pair %d and %d", name, counted.deployments, counted.licenses, want.deployments, want.licenses)
		}
	}
}

// A license that is suspended or expired still proves who asks: what it may do is another question.
func TestSuspendedAndExpiredLicensesProveWhoAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(func(ctx context.Context, r *store.Roles) error {
		return store.UpdateIn[*entitlement.License](ctx, r.Licenses, license, func(l *entitlement.License) error { return l.Suspend(noon) })
	})
	w.clock.Advance(400 * day)
	if c := w.caller(install, license); c.Install() != install {
		t.Errorf("got %+v", c)
	}
}

// A rotated key proves nothing from then on.
func TestRotatedKeyProvesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do(func(ctx context.Context, r *store.Roles) error {
		return store.UpdateIn[*entitlement.License](ctx, r.Licenses, license, func(l *entitlement.License) error {
			return l.Rotate(entitlement.HashKey(pepper, key("lic_9")), noon)
		})
	})
	_, err := w.Authenticate(w.ctx, market.Credentials{Install: install, Key: key(license)})
	w.refused(err, fault.Unauthenticated, "credentials_unknown")
	_, err = w.Authenticate(w.ctx, market.Credentials{Install: install, Key: key("lic_9")})
	w.must(err)
}
