package authorization_test

import (
	"bytes"
	"strings"
	"testing"

	"berth/domain/authorization"
	"berth/domain/fault"
)

func goodSpec() authorization.PrincipalSpec {
	return authorization.PrincipalSpec{
		Tenant: tenantID, ID: "prn_01", Kind: authorization.Desktop, Role: authorization.Member, Name: "Büro 2",
		PublicKey: bytes.Repeat([]byte{7}, 32),
	}
}

// A device is made as it was described, and is active.
func TestNewPrincipal(t *testing.T) {
	t.Parallel()
	p, err := authorization.NewPrincipal(goodSpec(), dawn)
	wantNone(t, err)
	want := authorization.PrincipalRecord{
		Tenant: tenantID, ID: "prn_01", Kind: authorization.Desktop, Role: authorization.Member,
		Status: authorization.Active, Name: "Büro 2", PublicKey: [32]byte(bytes.Repeat([]byte{7}, 32)), CreatedAt: dawn,
	}
	if p.Record() != want || !p.Active() || authorization.RestorePrincipal(want).Record() != want {
		t.Errorf("the device is %+v", p.Record())
	}
}

// Each field is checked, and refused under its own name.
func TestPrincipalRefusals(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change      func(*authorization.PrincipalSpec)
		field, slug string
	}{
		"tenant":        {func(s *authorization.PrincipalSpec) { s.Tenant = "Acme" }, "tenant", "invalid_id"},
		"no id":         {func(s *authorization.PrincipalSpec) { s.ID = "" }, "id", "invalid_id"},
		"long id":       {func(s *authorization.PrincipalSpec) { s.ID = strings.Repeat("a", 64) }, "id", "invalid_id"},
		"id with slash": {func(s *authorization.PrincipalSpec) { s.ID = "prn/1" }, "id", "invalid_id"},
		"kind":          {func(s *authorization.PrincipalSpec) { s.Kind = "Phone" }, "kind", "invalid_kind"},
		"role":          {func(s *authorization.PrincipalSpec) { s.Role = "" }, "role", "invalid_role"},
		"no name":       {func(s *authorization.PrincipalSpec) { s.Name = "" }, "name", "invalid_name"},
		"long name":     {func(s *authorization.PrincipalSpec) { s.Name = strings.Repeat("ü", 101) }, "name", "invalid_name"},
		"line break":    {func(s *authorization.PrincipalSpec) { s.Name = "a\nb" }, "name", "invalid_name"},
		"bad UTF-8":     {func(s *authorization.PrincipalSpec) { s.Name = "a\xffb" }, "name", "invalid_name"},
		"no key":        {func(s *authorization.PrincipalSpec) { s.PublicKey = nil }, "public_key", "invalid_public_key"},
		"long key":      {func(s *authorization.PrincipalSpec) { s.PublicKey = make([]byte, 33) }, "public_key", "invalid_public_key"},
		"zero key":      {func(s *authorization.PrincipalSpec) { s.PublicKey = make([]byte, 32) }, "public_key", "invalid_public_key"},
	}
	for name, c := range cases {
		spec := goodSpec()
		c.change(&spec)
		_, err := authorization.NewPrincipal(spec, dawn)
		wantSlug(t, err, fault.Invalid, c.slug)
		if f, _ := fault.As(err); f.Field != c.field {
			t.Errorf("%s: the fault is at %q", name, f.Field)
		}
	}
	_, err := authorization.NewPrincipal(authorization.PrincipalSpec{}, dawn)
	if f, ok := fault.As(err); !ok || len(f.Errors) != 6 {
		t.Errorf("an empty description gives %v", err)
	}
}
