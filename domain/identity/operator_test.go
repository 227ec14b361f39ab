package identity_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

func clearToken(t tester, id string) string {
	t.Helper()
	text, err := identity.FormatToken(id, []byte("0123456789abcdef0123"))
	must(t, err)
	return text
}

func operatorToken(t tester, id string, role identity.Role) *identity.OperatorToken {
	t.Helper()
	token, err := identity.NewOperatorToken(identity.NewToken{
		Name: "night shift", Role: role, Clear: clearToken(t, id), ExpiresAt: start().Add(time.Hour),
	}, start())
	must(t, err)
	return token
}

// Each role allows what the one below it allows, and an unknown role nothing, also where it is required.
func TestRoles(t *testing.T) {
	t.Parallel()
	order := []identity.Role{"", identity.RoleViewer, identity.RoleOperator, identity.RoleAdmin}
	for i, role := range order {
		for j, required := range order {
			want := j > 0 && i >= j
			err := identity.CheckRole(role, required)
			if role.Allows(required) != want || (err == nil) != want {
				t.Errorf("%q allows %q: %v", role, required, role.Allows(required))
			}
			if err != nil {
				wantFault(t, err, fault.Forbidden, "role_insufficient")
			}
		}
		if got, err := identity.ParseRole(string(role)); (err == nil) != (i > 0) || got != role {
			t.Errorf("%q was read as %q, %v", role, got, err)
		}
	}
	for _, text := range []string{"Admin", "admin ", "root"} {
		wantFault(t, errOf(identity.ParseRole(text)), fault.Invalid, "role_unknown")
	}
}

// What FormatToken writes, ParseToken reads, for every id Berth gives and every secret of enough bits.
func TestTokenRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?`).Draw(t, "id")
		secret := rapid.SliceOfN(rapid.Byte(), 16, 64).Draw(t, "secret")
		text, err := identity.FormatToken(id, secret)
		must(t, err)
		if got, err := identity.ParseToken(text); err != nil || got != id {
			t.Fatalf("%q was read as %q, %v", text, got, err)
		}
	})
	if got := clearToken(t, "tok_01j"); got != "bt_tok_01j_gaytemzugu3doobzmfrggzdfmyydcmrt" {
		t.Errorf("the form changed to %s", got)
	}
}

// A token has one spelling; an id or secret out of bounds makes none.
func TestTokenIsStrict(t *testing.T) {
	t.Parallel()
	good := clearToken(t, "tok_1")
	wantFault(t, errOf(identity.ParseToken("")), fault.Unauthenticated, "token_missing")
	for _, text := range []string{
		"bt", "bt_", "bt__", "bt_tok_1", "bt_tok_1_", "bt__gaytemzugu3doobzmfrggzdfmyydcmrt", "bl_tok_1_gaytemzugu3doobzmfrggzdfmyydcmrt",
		"BT" + good[2:], strings.ToUpper(good), " " + good, good + " ", good + "\n", good + "=", good + "a", good[:len(good)-8],
		"bt_Tok_gaytemzugu3doobzmfrggzdfmyydcmrt", "bt_a.b_gaytemzugu3doobzmfrggzdfmyydcmrt", "bt_-a_gaytemzugu3doobzmfrggzdfmyydcmrt",
		"bt_a_gaytemzugu3doobzmfrggzdfmy", "bt_a_gaytemzugu3doobzmfrggzdfmz", "bt_a_gaytemzugu3doob\nzmfrggzdfmyydcmrt",
		"bt_a_" + strings.Repeat("a", 104), "bt_" + strings.Repeat("a", 65) + "_gaytemzugu3doobzmfrggzdfmyydcmrt", strings.Repeat("bt_a", 100),
	} {
		id, err := identity.ParseToken(text)
		if text == "bt_a_gaytemzugu3doobzmfrggzdfmy" { // 128 bits exactly: the shortest
			must(t, err)
			continue
		}
		if fault.SlugOf(err) != "token_malformed" || fault.KindOf(err) != fault.Unauthenticated {
			t.Errorf("%q was read as %q, %v", text, id, err)
		}
	}
	for _, c := range []struct {
		id     string
		secret int
	}{{"", 16}, {"a_", 16}, {"_a", 16}, {"A", 16}, {"a", 15}, {"a", 65}, {"a b", 16}} {
		wantFault(t, errOf(identity.FormatToken(c.id, make([]byte, c.secret))), fault.Invalid, "token_malformed")
	}
}

// Only the bearer of the right secret learns that a token is revoked or expired.
func TestCheckToken(t *testing.T) {
	t.Parallel()
	token := operatorToken(t, "tok_1", identity.RoleViewer)
	text, end := clearToken(t, "tok_1"), start().Add(time.Hour)
	wrong, err := identity.FormatToken("tok_1", []byte("another secret!!"))
	must(t, err)
	must(t, identity.CheckToken(token, text, start()))
	must(t, identity.CheckToken(token, text, end.Add(-1)))
	wantFault(t, identity.CheckToken(token, text, end), fault.Unauthenticated, "token_expired")
	wantFault(t, identity.CheckToken(token, wrong, end), fault.Unauthenticated, "token_unknown")
	wantFault(t, identity.CheckToken(token, clearToken(t, "tok_2"), start()), fault.Unauthenticated, "token_unknown")
	wantFault(t, identity.CheckToken(nil, text, start()), fault.Unauthenticated, "token_unknown")
	wantFault(t, identity.CheckToken(token, "", start()), fault.Unauthenticated, "token_missing")
	wantFault(t, identity.CheckToken(nil, "x", start()), fault.Unauthenticated, "token_malformed")
	renamed := token.Record()
	renamed.ID = "tok_2"
	wantFault(t, identity.CheckToken(identity.RestoreOperatorToken(renamed), text, start()), fault.Unauthenticated, "token_unknown")
	if !token.Revoke(start()) || token.Revoke(end) || !token.Record().RevokedAt.Equal(start()) {
		t.Errorf("revoking twice: %+v", token.Record())
	}
	wantFault(t, identity.CheckToken(token, text, start()), fault.Unauthenticated, "token_revoked")
	wantFault(t, identity.CheckToken(token, wrong, start()), fault.Unauthenticated, "token_unknown")
}

// A token is kept as a hash: nothing of its secret stands in the record, and a record without expiry is expired.
func TestTokenRecord(t *testing.T) {
	t.Parallel()
	token := operatorToken(t, "tok_1", identity.RoleAdmin)
	text := clearToken(t, "tok_1")
	if shown := fmt.Sprintf("%+v", token.Record()); strings.Contains(shown, text[len(text)-20:]) {
		t.Errorf("the record shows the secret: %s", shown)
	}
	if token.Role() != identity.RoleAdmin || token.Record().ID != "tok_1" ||
		!identity.TokenMatches(identity.HashToken(text), text) || identity.TokenMatches([32]byte{}, text) {
		t.Errorf("the record is %+v", token.Record())
	}
	endless := token.Record()
	endless.ExpiresAt = time.Time{}
	wantFault(t, identity.CheckToken(identity.RestoreOperatorToken(endless), text, start()), fault.Unauthenticated, "token_expired")
}

// A token without a name, role, form or end is refused; zero never means never.
func TestNewOperatorTokenValidates(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		slug   string
		change func(*identity.NewToken)
	}{
		{"token_malformed", func(n *identity.NewToken) { n.Clear = "secret" }},
		{"text_out_of_bounds", func(n *identity.NewToken) { n.Name = "" }},
		{"text_out_of_bounds", func(n *identity.NewToken) { n.Name = strings.Repeat("n", 129) }},
		{"role_unknown", func(n *identity.NewToken) { n.Role = "root" }},
		{"validity_invalid", func(n *identity.NewToken) { n.ExpiresAt = time.Time{} }},
		{"validity_invalid", func(n *identity.NewToken) { n.ExpiresAt = start() }},
	} {
		n := identity.NewToken{Name: "a", Role: identity.RoleViewer, Clear: clearToken(t, "tok_1"), ExpiresAt: start().Add(1e9)}
		c.change(&n)
		if _, err := identity.NewOperatorToken(n, start()); fault.SlugOf(err) != c.slug {
			t.Errorf("case %d: %v, want %s", i, err, c.slug)
		}
	}
}

// The bootstrap token works exactly as long as no live admin token exists.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	now := start().Add(30 * time.Minute)
	for _, role := range []identity.Role{identity.RoleViewer, identity.RoleOperator, identity.RoleAdmin} {
		live := operatorToken(t, "tok_1", role)
		expired, revoked := live.Record(), live.Record()
		expired.ExpiresAt, revoked.RevokedAt = now, start()
		if live.LiveAdmin(now) != (role == identity.RoleAdmin) {
			t.Errorf("a live %s counts as admin: %v", role, live.LiveAdmin(now))
		}
		for _, dead := range []identity.OperatorTokenRecord{expired, revoked} {
			if identity.RestoreOperatorToken(dead).LiveAdmin(now) {
				t.Errorf("%+v counts as a live admin", dead)
			}
		}
	}
	must(t, identity.CheckBootstrap(0))
	for _, admins := range []int{1, 7, -1} {
		wantFault(t, identity.CheckBootstrap(admins), fault.Forbidden, "bootstrap_closed")
	}
}
