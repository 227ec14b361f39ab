package delivery_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/delivery"
	"berth/domain/fault"
)

type param = delivery.Parameter

func named(errs []*fault.Error) []string {
	out := []string{}
	for _, e := range errs {
		out = append(out, e.Slug+" "+e.Field)
	}
	return out
}

func wantNamed(t *testing.T, errs []*fault.Error, want ...string) {
	t.Helper()
	if got := named(errs); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q: %v", got, want, errs)
	}
	for _, e := range errs {
		if e.Kind != fault.Invalid || e.Detail == "" {
			t.Errorf("%+v", e)
		}
	}
}

// What a release may declare.
func TestParametersAreDeclaredSoundly(t *testing.T) {
	t.Parallel()
	wantNamed(t, delivery.CheckParameters([]param{
		{Name: "replicas", Type: "int", Default: "2", HasDefault: true, CustomerSettable: true},
		{Name: "image.pullPolicy", Type: "enum", Values: []string{"Always", "Never"}}, {Name: "db_password", Type: "string", Secret: true, Required: true},
		{Name: "host", Type: "string", Pattern: "[a-z.]+", Default: "a.example", HasDefault: true}, {Name: "memory", Type: "quantity", Default: "1Gi", HasDefault: true},
		{Name: "debug", Type: "bool", Default: "false", HasDefault: true}, {Name: "empty", Type: "string", HasDefault: true},
	}))
	for want, p := range map[string]param{
		"parameter_name_invalid 0.name":                {Name: "1st", Type: "int"},
		"parameter_name_invalid 0.name ":               {Name: "a..b", Type: "int"},
		"parameter_name_invalid 0.name  ":              {Name: "a.", Type: "int"},
		"parameter_name_invalid 0.name   ":             {Name: strings.Repeat("a", 64), Type: "int"},
		"parameter_name_invalid 0.name    ":            {Name: "${a}", Type: "int"},
		"parameter_name_invalid 0.name     ":           {Type: "int"},
		"parameter_declaration_invalid 0.type":         {Name: "a", Type: "float"},
		"parameter_declaration_invalid 0.type ":        {Name: "a"},
		"parameter_declaration_invalid 0.type  ":       {Name: "a", Type: "int", Secret: true},
		"parameter_declaration_invalid 0.default":      {Name: "a", Type: "string", Secret: true, Default: "x", HasDefault: true},
		"parameter_declaration_invalid 0.pattern":      {Name: "a", Type: "int", Pattern: "1"},
		"parameter_declaration_invalid 0.pattern ":     {Name: "a", Type: "string", Pattern: "("},
		"parameter_declaration_invalid 0.pattern  ":    {Name: "a", Type: "string", Pattern: "a)|(?:b"},
		"parameter_declaration_invalid 0.pattern   ":   {Name: "a", Type: "string", Pattern: strings.Repeat("a", 257)},
		"parameter_declaration_invalid 0.pattern    ":  {Name: "a", Type: "string", Pattern: "(?=a)"},
		"parameter_declaration_invalid 0.pattern     ": {Name: "a", Type: "string", Pattern: "a\xff"},
		"parameter_declaration_invalid 0.values":       {Name: "a", Type: "enum"},
		"parameter_declaration_invalid 0.values ":      {Name: "a", Type: "string", Values: []string{"x"}},
		"parameter_declaration_invalid 0.values  ":     {Name: "a", Type: "enum", Values: make([]string, 65)},
		"parameter_declaration_invalid 0.values.1":     {Name: "a", Type: "enum", Values: []string{"x", "x"}},
		"parameter_declaration_invalid 0.values.0":     {Name: "a", Type: "enum", Values: []string{"x\x00"}},
		"parameter_invalid 0.default":                  {Name: "a", Type: "int", Default: "two", HasDefault: true},
		"parameter_invalid 0.default ":                 {Name: "a", Type: "string", Pattern: "[0-9]+", Default: "1a", HasDefault: true},
		"parameter_invalid 0.default  ":                {Name: "a", Type: "enum", Values: []string{"x"}, Default: "y", HasDefault: true},
	} {
		wantNamed(t, delivery.CheckParameters([]param{p}), strings.TrimSpace(want))
	}
	wantNamed(t, delivery.CheckParameters([]param{{Name: "a", Type: "int"}, {Name: "a", Type: "float"}}),
		"parameter_repeated 1.name", "parameter_declaration_invalid 1.type")
	wantNamed(t, delivery.CheckParameters([]param{{Name: "db.host", Type: "string"}, {Name: "db", Type: "string"}}), "parameter_name_invalid 0.name")
	wantNamed(t, delivery.CheckParameters(make([]param, 65)), "parameters_too_many ")
}

// Each type has its text form, and one only.
func TestValuesOfEachType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    param
		good map[string]any
		bad  []string
	}{
		{
			param{Type: "int"}, map[string]any{"0": int64(0), "-5": int64(-5), "9007199254740991": int64(1<<53 - 1), "-9007199254740991": int64(1 - 1<<53)},
			[]string{"", "1.0", "01", "+1", " 1", "1e3", "0x1", "9007199254740992", "-9007199254740992", "-9223372036854775808", "99999999999999999999", "-0", "one"},
		},
		{param{Type: "bool"}, map[string]any{"true": true, "false": false}, []string{"", "True", "yes", "1", "0", "on"}},
		{param{Type: "quantity"}, map[string]any{"500m": "500m", "8Gi": "8Gi", "0": "0"}, []string{"", "-1", "8GB", "lots", "9EE"}},
		{param{Type: "enum", Values: []string{"a", ""}}, map[string]any{"a": "a", "": ""}, []string{"A", "b", "a "}},
		{param{Type: "string"}, map[string]any{"": "", "x\ny": "x\ny", "é": "é", "${x}": "${x}"}, []string{"a\x00", "\xff", strings.Repeat("x", 4097)}},
		{param{Type: "string", Pattern: "a|ab"}, map[string]any{"a": "a", "ab": "ab"}, []string{"", "aa", "xab", "ab\n", "ab\nab"}},
		{param{Type: "string", Pattern: "^[a-z]+$"}, map[string]any{"abc": "abc"}, []string{"abc\n", "ABC", ""}},
		{param{Type: "string", Pattern: "(?i)yes"}, map[string]any{"YES": "YES"}, []string{"no"}},
		{param{Type: "string", Secret: true}, map[string]any{strings.Repeat("x", 8<<10): strings.Repeat("x", 8<<10)}, []string{strings.Repeat("x", 8<<10+1)}},
	} {
		c.p.Name = "value"
		for text, want := range c.good {
			if err := c.p.Check(text); err != nil || c.p.Decode(text) != want {
				t.Errorf("%s %.20q: %v, %v", c.p.Type, text, c.p.Decode(text), err)
			}
		}
		for _, text := range c.bad {
			if err := c.p.Check(text); err == nil || err.Slug != "parameter_invalid" {
				t.Errorf("%s %.20q is accepted", c.p.Type, text)
			}
		}
	}
}

func declaredFew() []param {
	return []param{
		{Name: "replicas", Type: "int", Default: "1", HasDefault: true, CustomerSettable: true}, {Name: "host", Type: "string", Required: true, Pattern: "[a-z.]+"},
		{Name: "mode", Type: "enum", Values: []string{"fast", "safe"}, CustomerSettable: true}, {Name: "password", Type: "string", Secret: true, Required: true, CustomerSettable: true},
		{Name: "token", Type: "string", Secret: true, Pattern: "[a-z]+"},
	}
}

// A value is what was given, else the default; what has none stays without. Secrets are no part of it.
func TestSettling(t *testing.T) {
	t.Parallel()
	got, errs := delivery.Settle(declaredFew(), map[string]string{"host": "a.example"}, delivery.ByOperator)
	if want := map[string]string{"replicas": "1", "host": "a.example"}; len(errs) > 0 || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, errs)
	}
	got, errs = delivery.Settle(declaredFew(), map[string]string{"host": "b", "replicas": "7", "mode": "safe"}, delivery.ByOperator)
	if want := map[string]string{"replicas": "7", "host": "b", "mode": "safe"}; len(errs) > 0 || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, errs)
	}
	for _, c := range []struct {
		given map[string]string
		by    delivery.Chooser
		want  []string
	}{
		{nil, delivery.ByOperator, []string{"parameter_required host"}},
		{map[string]string{"host": "a", "other": "1", "Host": "2"}, delivery.ByOperator, []string{"parameter_unknown Host", "parameter_unknown other"}},
		{map[string]string{"host": "a"}, delivery.ByCustomer, []string{"parameter_not_settable host"}},
		{map[string]string{"host": "A", "replicas": "many", "mode": "slow"}, delivery.ByOperator, []string{"parameter_invalid replicas", "parameter_invalid host", "parameter_invalid mode"}},
		{map[string]string{"host": "a", "password": "p"}, delivery.ByOperator, []string{"parameter_secret password"}},
		{map[string]string{"x": "1", "replicas": "many"}, delivery.ByCustomer, []string{"parameter_unknown x", "parameter_invalid replicas", "parameter_required host"}},
	} {
		got, errs := delivery.Settle(declaredFew(), c.given, c.by)
		if got != nil {
			t.Errorf("%v: values beside faults", c.given)
		}
		wantNamed(t, errs, c.want...)
	}
}

// Secrets are parted from the rest, judged by their own rules, and never repeated in an answer.
func TestSecretsAreApart(t *testing.T) {
	t.Parallel()
	given := map[string]string{"password": "hunter2", "token": "T0P-SECRET", "replicas": "2", "unknown": "u"}
	plain, secret := delivery.SplitSecrets(declaredFew(), given)
	if !maps.Equal(plain, map[string]string{"replicas": "2", "unknown": "u"}) || !maps.Equal(secret, map[string]string{"password": "hunter2", "token": "T0P-SECRET"}) {
		t.Errorf("%v and %v", plain, secret)
	}
	errs := delivery.CheckSecrets(declaredFew(), secret, delivery.ByOperator)
	wantNamed(t, errs, "parameter_invalid token")
	if len(errs) == 1 && strings.Contains(errs[0].Error()+errs[0].Cure, "T0P") {
		t.Errorf("the answer holds the secret: %v", errs[0])
	}
	wantNamed(t, delivery.CheckSecrets(declaredFew(), map[string]string{"password": "p", "token": "abc"}, delivery.ByCustomer), "parameter_not_settable token")
	wantNamed(t, delivery.MissingSecrets(declaredFew(), func(n string) bool { return n == "token" }), "parameter_required password")
	wantNamed(t, delivery.MissingSecrets(declaredFew(), func(string) bool { return true }))
}

func drawParameter(t *rapid.T, name string) param {
	p := param{
		Name: name, Type: rapid.SampledFrom([]delivery.ParameterType{"string", "int", "bool", "quantity", "enum"}).Draw(t, "type"),
		Required: rapid.Bool().Draw(t, "required"), CustomerSettable: rapid.Bool().Draw(t, "settable"),
	}
	if p.Type == delivery.ParameterEnum {
		p.Values = []string{"a", "b", "c"}
	}
	if p.Type == delivery.ParameterString && rapid.Bool().Draw(t, "secret") {
		p.Secret = true
	} else if rapid.Bool().Draw(t, "has default") {
		p.HasDefault, p.Default = true, p.Sample()
	}
	return p
}

// Whatever is declared and given: what is settled is of its type, holds no secret and nothing undeclared, and holds
// whatever is required; a customer settles nothing that is not for him; and settling what was settled changes nothing.
func TestSettledValuesAreSound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var declared []param
		for _, name := range []string{"a", "b", "c"} {
			declared = append(declared, drawParameter(t, name))
		}
		if errs := delivery.CheckParameters(declared); len(errs) > 0 {
			t.Fatalf("%+v: %v", declared, errs)
		}
		given := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c", "d"}), rapid.SampledFrom([]string{"", "a", "b", "1", "2Gi", "true", "x"})).Draw(t, "given")
		by := rapid.SampledFrom([]delivery.Chooser{delivery.ByOperator, delivery.ByCustomer}).Draw(t, "by")
		got, errs := delivery.Settle(declared, given, by)
		if len(errs) > 0 {
			return
		}
		for _, p := range declared {
			value, has := got[p.Name]
			chosen, given := given[p.Name]
			switch {
			case p.Secret && (has || given), has && p.Check(value) != nil, p.Required && !p.Secret && !has, given && value != chosen,
				given && by == delivery.ByCustomer && !p.CustomerSettable:
				t.Fatalf("%+v became %q", p, value)
			}
		}
		if again, errs := delivery.Settle(declared, got, delivery.ByOperator); len(errs) > 0 || !reflect.DeepEqual(again, got) {
			t.Fatalf("%v, then %v (%v)", got, again, errs)
		}
	})
}

// A sample is of its type, and the other one is too, and differs where the type has more than one value.
func TestSamples(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := drawParameter(t, "a")
		if p.Check(p.Sample()) != nil || p.Check(p.Other()) != nil || p.Sample() == p.Other() {
			t.Fatalf("%+v: %q and %q", p, p.Sample(), p.Other())
		}
	})
	single := param{Type: "enum", Values: []string{"only"}}
	if single.Sample() != "only" || single.Other() != "only" {
		t.Error("an enum of one value has another")
	}
}

// Whatever the pattern and the value, judging them ends, and a value is accepted only where the whole of it matches.
func FuzzPattern(f *testing.F) {
	f.Add("[a-z]+", "abc")
	f.Add("a)|(b", "a")
	f.Add("(a{1000}){1000}", "a")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		p := param{Name: "p", Type: "string", Pattern: pattern}
		if errs := delivery.CheckParameters([]param{p}); len(errs) > 0 || p.Check(value) != nil {
			return
		}
		re := regexp.MustCompile(pattern)
		re.Longest()
		if loc := re.FindStringIndex(value); loc == nil && pattern != "" {
			t.Fatalf("%q is accepted by %q", value, pattern)
		}
	})
}
