package entitlement_test

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"berth/domain/entitlement"
	"berth/domain/fault"
)

// A key has the form of the contract: 128 bits in base32 after the license's id.
func TestKeyForm(t *testing.T) {
	t.Parallel()
	const want = "bl_lic_01jq0000000000000000000001_aaaqeayeaudaocajbifqydiob4"
	secret := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	if got := entitlement.FormatKey(spec().ID, secret); got != want {
		t.Fatalf("formatted as %s", got)
	}
	for _, text := range []string{
		"", "bl_", "bl__", want + "a", want[:len(want)-1], want + "\n", " " + want, strings.ToUpper(want), "bl" + want[3:],
		want[:len(want)-1] + "5", // other last bits, which no encoder writes
		"bl__aaaqeayeaudaocajbifqydiob4", "bl_lic-1_aaaqeayeaudaocajbifqydiob4", "bl_lic_01_aaaqeayeaudaocajbifqydio1b",
		"bl_" + strings.Repeat("a", 64) + "_aaaqeayeaudaocajbifqydiob4", strings.Repeat("x", 1<<20),
	} {
		_, err := entitlement.ParseKey(text)
		refused(t, err, fault.Invalid, "license_key_malformed")
		if len(text) > 8 && strings.Contains(err.Error(), text) {
			t.Errorf("the refusal repeats %q", text)
		}
	}
}

// What was formatted is parsed to the same license; no other secret, pepper or license has its hash.
func TestKeysComeBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		id := "lic_" + rapid.StringMatching(`[0-9a-z_]{1,40}`).Draw(r, "id")
		secret := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(r, "secret")
		other := rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(r, "other")
		key := entitlement.FormatKey(id, secret)
		if got, err := entitlement.ParseKey(key); err != nil || got != id {
			r.Fatalf("%s is of %q (%v)", key, got, err)
		}
		same := entitlement.HashKey(other, key) == entitlement.HashKey(secret, key)
		if same != bytes.Equal(other, secret) {
			r.Fatal("the pepper makes no difference")
		}
		if (entitlement.HashKey(secret, key) == entitlement.HashKey(secret, entitlement.FormatKey(id, other))) != same {
			r.Fatal("the secret makes no difference")
		}
	})
}

// Whatever is taken for a key is the one text of its license and secret.
func FuzzParseKey(f *testing.F) {
	f.Add("bl_lic_01jq0000000000000000000001_aaaqeayeaudaocajbifqydiob4")
	f.Add("bl_a_b_aaaqeayeaudaocajbifqydiob5")
	f.Add("bl__aaaqeayeaudaocajbifqydiob4")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := entitlement.ParseKey(text)
		if err != nil {
			refused(t, err, fault.Invalid, "license_key_malformed")
			return
		}
		if id == "" || len(id) > 63 || !strings.HasPrefix(text, "bl_"+id+"_") || len(text) != len(id)+4+26 {
			t.Fatalf("%q was taken for a key of %q", text, id)
		}
		if strings.ContainsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_' }) {
			t.Fatalf("%q was taken for a key", text)
		}
	})
}
