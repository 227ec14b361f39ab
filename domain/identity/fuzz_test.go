package identity_test

import (
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/domain/identity"
)

// Whatever is read as a SPIFFE id is spelt exactly as it is written.
func FuzzParseSPIFFEID(f *testing.F) {
	f.Add("spiffe://berth.example/relay/eu/n1")
	f.Add("spiffe://berth.example:443/relay/eu/n1?x#y")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := identity.ParseSPIFFEID(text)
		if err == nil && id.String() != text {
			t.Errorf("%q was read as %q", text, id)
		}
		if err != nil && (fault.SlugOf(err) != "spiffe_id_malformed" || !id.IsZero()) {
			t.Errorf("%q was refused with %v", text, err)
		}
	})
}

// No header value opens but the one that was sealed, and every refusal is a 401 or 403.
func FuzzOpenAssertion(f *testing.F) {
	good := forge(fields)
	f.Add(good)
	f.Add(strings.Replace(good, "v1.", "v2.", 1))
	f.Add("v1..")
	secrets := secretsOf(f, []string{"s0"}, "s1", "s2")
	f.Fuzz(func(t *testing.T, value string) {
		_, err := identity.OpenAssertion([]string{value}, secrets, arrivedFields(), start(), skew)
		if err == nil && value != good {
			t.Errorf("%q was opened", value)
		}
		if kind := fault.KindOf(err); err != nil && kind != fault.Unauthenticated && kind != fault.Forbidden {
			t.Errorf("%q was refused with %v", value, err)
		}
	})
}

// No payload is accepted in two spellings: under the right secret, only the canonical form of what it says opens.
func FuzzPayload(f *testing.F) {
	f.Add(fields)
	f.Add(strings.Replace(fields, `"v":1`, `"V":1`, 1))
	f.Add(strings.Replace(fields, `"v":1`, `"v":1,"v":1`, 1))
	secrets := secretsOf(f, nil, "s1")
	f.Fuzz(func(t *testing.T, payload string) {
		got, err := identity.OpenAssertion([]string{forge(payload)}, secrets, arrivedFields(), start(), skew)
		if err != nil {
			return
		}
		for _, part := range []string{got.SPIFFEID.String(), got.Fingerprint, got.Nonce} {
			if strings.Count(payload, `"`+part+`"`) < 1 {
				t.Errorf("%q was read as %+v", payload, got)
			}
		}
		if strings.Count(payload, `":`) != 11 || strings.ContainsAny(payload, " \n\t\r\\") {
			t.Errorf("the loose payload %q was opened", payload)
		}
	})
}

// A token is read only as it is written, whatever its id and secret.
func FuzzParseToken(f *testing.F) {
	f.Add("bt_tok_1_gaytemzugu3doobzmfrggzdfmyydcmrt")
	f.Add("bt__")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := identity.ParseToken(text)
		if err != nil {
			if fault.KindOf(err) != fault.Unauthenticated {
				t.Errorf("%q was refused with %v", text, err)
			}
			return
		}
		secret, ok := strings.CutPrefix(text, "bt_"+id+"_")
		if !ok || len(secret) < 26 || strings.Trim(secret, "abcdefghijklmnopqrstuvwxyz234567") != "" {
			t.Errorf("%q was read as the token %q", text, id)
		}
	})
}

// The canonical form of a typed code is its own canonical form.
func FuzzCanonicalPairingCode(f *testing.F) {
	f.Add("0123-4567-89ab-cdef")
	f.Add("oil0 oil0 oil0 oil0")
	f.Fuzz(func(t *testing.T, typed string) {
		canonical, err := identity.CanonicalPairingCode(typed)
		if err != nil {
			return
		}
		again, err := identity.CanonicalPairingCode(canonical)
		if err != nil || again != canonical || len(canonical) != 16 {
			t.Errorf("%q stands for %q, which stands for %q, %v", typed, canonical, again, err)
		}
	})
}
