package trust_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
)

const bootstrapText = "a bootstrap token from a file"

var root = trust.Operator{ID: "tok_root", Name: "root", Role: identity.RoleAdmin}

func (w *world) create(by trust.Operator, role identity.Role) (trust.CreatedToken, error) {
	return w.CreateToken(w.ctx, trust.CreateTokenRequest{Actor: alice, By: by, Name: "somebody", Role: role})
}

func (w *world) token(role identity.Role) trust.CreatedToken {
	w.t.Helper()
	out, err := w.create(root, role)
	w.must(err)
	return out
}

func (w *world) revokeToken(id string) (identity.OperatorTokenRecord, error) {
	return w.RevokeToken(w.ctx, trust.RevokeTokenRequest{Actor: alice, ID: id})
}

// A token is shown once, kept as its hash, and names its bearer until it expires.
func TestCreateToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	since := w.dump().Audit.Sequence
	out := w.token(identity.RoleOperator)
	if out.Token.Hash != ([32]byte{}) || !out.Token.ExpiresAt.Equal(noon.Add(30*day)) {
		t.Fatalf("the token is %+v", out.Token)
	}
	w.wantActions(since, "token.created")
	kept := w.dump().Tokens[0]
	if kept.Hash != identity.HashToken(out.Clear) || strings.Contains(fmt.Sprint(kept), out.Clear) {
		t.Fatalf("kept is %+v", kept)
	}
	op, err := w.CheckOperator(w.ctx, out.Clear)
	w.must(err)
	if op != (trust.Operator{ID: out.Token.ID, Name: "somebody", Role: identity.RoleOperator}) {
		t.Fatalf("the operator is %+v", op)
	}
	w.clock.Advance(30*day - time.Microsecond)
	_, err = w.CheckOperator(w.ctx, out.Clear)
	w.must(err)
	w.clock.Advance(time.Microsecond)
	_, err = w.CheckOperator(w.ctx, out.Clear)
	w.refused(err, fault.Unauthenticated, "token_expired")
}

// What is no token, or not this one, is refused, by a slug of its own only where that tells nothing.
func TestCheckOperatorRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good, other := w.token(identity.RoleAdmin), w.token(identity.RoleAdmin)
	before := w.dump()
	i, j := strings.LastIndexByte(good.Clear, '_'), strings.LastIndexByte(other.Clear, '_')
	for _, c := range []struct{ text, slug string }{
		{"", "token_missing"},
		{"nonsense", "token_malformed"},
		{good.Clear + "1", "token_malformed"},
		{good.Clear + "a", "token_unknown"},
		{strings.ToUpper(good.Clear), "token_malformed"},
		{good.Clear[:i] + other.Clear[j:], "token_unknown"},
		{strings.Replace(good.Clear, good.Token.ID, "tok_nobody", 1), "token_unknown"},
		{bootstrapText, "token_malformed"},
	} {
		_, err := w.CheckOperator(w.ctx, c.text)
		w.refused(err, fault.Unauthenticated, c.slug)
	}
	w.untouched(before, "a refused token")
	_, err := w.revokeToken(good.Token.ID)
	w.must(err)
	_, err = w.CheckOperator(w.ctx, good.Clear)
	w.refused(err, fault.Unauthenticated, "token_revoked")
}

// Only an admin makes tokens, of whatever role; a role that there is not is not made.
func TestCreateTokenRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	before := w.dump()
	for _, role := range []identity.Role{identity.RoleViewer, identity.RoleOperator, "", "root"} {
		for _, made := range []identity.Role{identity.RoleViewer, identity.RoleOperator, identity.RoleAdmin} {
			_, err := w.create(trust.Operator{ID: "tok_x", Role: role}, made)
			w.refused(err, fault.Forbidden, "role_insufficient")
		}
	}
	_, err := w.create(root, "root")
	w.refused(err, fault.Invalid, "role_unknown")
	_, err = w.CreateToken(w.ctx, trust.CreateTokenRequest{Actor: alice, By: root, Role: identity.RoleViewer})
	w.refused(err, fault.Invalid, "text_out_of_bounds")
	for _, life := range []time.Duration{0, -time.Hour, time.Second, 365*day + 1} {
		_, err := w.CreateToken(w.ctx, trust.CreateTokenRequest{
			Actor: alice, By: root, Name: "x", Role: identity.RoleViewer, ExpiresIn: &life,
		})
		w.refused(err, fault.Invalid, "expiry_out_of_range")
	}
	w.same(before, "a refused token")
	week := 7 * day
	out, err := w.CreateToken(w.ctx, trust.CreateTokenRequest{
		Actor: alice, By: root, Name: "x", Role: identity.RoleViewer, ExpiresIn: &week,
	})
	w.must(err)
	if !out.Token.ExpiresAt.Equal(noon.Add(week)) {
		t.Fatalf("it expires at %s", out.Token.ExpiresAt)
	}
}

// bootstrapped is a world with a bootstrap token and no admin.
func bootstrapped(t tb) (*world, trust.Operator) {
	t.Helper()
	w := newWorld(t)
	w.Bootstrap = trust.NewBootstrap(bootstrapText)
	op, err := w.CheckOperator(w.ctx, bootstrapText)
	w.must(err)
	return w, op
}

// The bootstrap token makes the first admin, and no other token; then it is closed, until the last admin has expired.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	w, op := bootstrapped(t)
	if !op.Bootstrap || op.ID != trust.BootstrapID {
		t.Fatalf("the bearer is %+v", op)
	}
	for _, role := range []identity.Role{identity.RoleViewer, identity.RoleOperator} {
		_, err := w.create(op, role)
		w.refused(err, fault.Forbidden, "bootstrap_limited")
		w.token(role) // others do not close it
	}
	_, err := w.CheckOperator(w.ctx, bootstrapText+" ")
	w.refused(err, fault.Unauthenticated, "token_malformed")
	first, err := w.create(op, identity.RoleAdmin)
	w.must(err)
	_, err = w.create(op, identity.RoleAdmin)
	w.refused(err, fault.Forbidden, "bootstrap_closed")
	_, err = w.CheckOperator(w.ctx, bootstrapText)
	w.refused(err, fault.Forbidden, "bootstrap_closed")
	w.clock.Advance(30 * day)
	_, err = w.CheckOperator(w.ctx, first.Clear)
	w.refused(err, fault.Unauthenticated, "token_expired")
	_, err = w.CheckOperator(w.ctx, bootstrapText)
	w.must(err)
}

// Without a bootstrap token nobody is its bearer, not even with an empty one.
func TestNoBootstrap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.CheckOperator(w.ctx, "")
	w.refused(err, fault.Unauthenticated, "token_missing")
}

// Of twenty that bootstrap at once one makes the first admin.
func TestBootstrapAtOnce(t *testing.T) {
	t.Parallel()
	w, op := bootstrapped(t)
	errs := make([]error, 20)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = w.create(op, identity.RoleAdmin) })
	}
	all.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		w.refused(err, fault.Forbidden, "bootstrap_closed")
	}
	if won != 1 {
		t.Fatalf("%d first admins", won)
	}
}

// A revocation is audited once; the last admin stays, however many others there are that have ended.
func TestRevokeToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, two, viewer := w.token(identity.RoleAdmin), w.token(identity.RoleAdmin), w.token(identity.RoleViewer)
	since := w.dump().Audit.Sequence
	first, err := w.revokeToken(one.Token.ID)
	w.must(err)
	if !first.RevokedAt.Equal(noon) || first.Hash != ([32]byte{}) {
		t.Fatalf("revoked is %+v", first)
	}
	w.wantActions(since, "token.revoked")
	before := w.dump()
	again, err := w.revokeToken(one.Token.ID)
	w.must(err)
	if again != first {
		t.Fatalf("revoked again is %+v", again)
	}
	_, err = w.revokeToken(two.Token.ID)
	w.refused(err, fault.Conflict, "last_admin")
	_, err = w.revokeToken("tok_nobody")
	w.refused(err, fault.NotFound, "token_not_found")
	w.same(before, "what revokes nothing")
	_, err = w.revokeToken(viewer.Token.ID)
	w.must(err)
	w.clock.Advance(30 * day)
	_, err = w.revokeToken(two.Token.ID) // it has expired, and is nobody's last
	w.must(err)
}

// Of two admins that revoke one another at once, one stays.
func TestLastAdminAtOnce(t *testing.T) {
	t.Parallel()
	for range 50 {
		w := newWorld(t)
		ids := []string{w.token(identity.RoleAdmin).Token.ID, w.token(identity.RoleAdmin).Token.ID}
		errs := make([]error, 2)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() { _, errs[i] = w.revokeToken(ids[i]) })
		}
		all.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("%v, %v", errs[0], errs[1])
		}
	}
}

// Tokens are listed in pages, ended ones included, and never with their hashes.
func TestTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 5 {
		w.token(identity.RoleAdmin)
	}
	seen := 0
	page := store.Page{Limit: 2}
	for {
		list, err := w.Tokens(w.ctx, page)
		w.must(err)
		for _, token := range list.Items {
			seen++
			if token.Hash != ([32]byte{}) {
				t.Fatalf("a hash is shown: %+v", token)
			}
		}
		if page.After = list.Next; list.Next == "" {
			break
		}
	}
	if seen != 5 {
		t.Fatalf("listed %d", seen)
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		stored, err := r.Tokens.List(ctx, store.Page{Limit: 1})
		if err == nil && stored[0].Record().Hash == ([32]byte{}) {
			t.Fatal("the list took the hash from what is kept")
		}
		return err
	})
}
