package agesealer_test

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"filippo.io/age"

	"berth/adapters/sealing/agesealer"
	"berth/domain/fault"
	"berth/ports/sealing"
	"berth/ports/sealing/sealingtest"
)

func key(tb testing.TB) (recipient string, opener sealing.Opener) {
	tb.Helper()
	identity, recipient, err := agesealer.NewIdentity()
	if err != nil {
		tb.Fatal(err)
	}
	o, err := agesealer.NewOpener(identity)
	if err != nil {
		tb.Fatal(err)
	}
	return recipient, o
}

func home() sealing.Place {
	return sealing.Place{InstallID: "ins_1", App: "shop", Parameter: "password"}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	sealingtest.Run(t, func(testing.TB) sealingtest.Kit { return sealingtest.Kit{Sealer: agesealer.Sealer{}, NewKey: key} })
}

// What age itself encrypted opens where it has the frame that the contract says, and not otherwise: customers seal with
// tools of their own, and a text that was sealed for something else is never taken for a secret.
func TestOpensWhatAgeSealed(t *testing.T) {
	t.Parallel()
	recipient, opener := key(t)
	for frame, want := range map[string]string{
		"berth-secret-1\nins_1\nshop\npassword\nhunter2": "", "berth-secret-1\nins_1\nshop\npassword\n": "",
		"berth-secret-1\nins_1\nshop\nother\nhunter2": "sealed_elsewhere",
		"berth-secret-1\nins_1\nshop\npassword":       "sealed_invalid", "berth-secret-2\nins_1\nshop\npassword\nx": "sealed_invalid",
		"hunter2": "sealed_invalid", "": "sealed_invalid",
		"berth-secret-1\nins_1\nshop\npassword\n" + strings.Repeat("x", sealing.MaxValue+1): "sealed_invalid",
	} {
		value, err := opener.Open(home(), encrypted(t, recipient, frame))
		if (err == nil) != (want == "") || err != nil && fault.SlugOf(err) != want {
			t.Errorf("%.60q: %v", frame, err)
		}
		if err == nil && "berth-secret-1\nins_1\nshop\npassword\n"+string(value) != frame {
			t.Errorf("%.60q opened as %q", frame, value)
		}
	}
}

func encrypted(tb testing.TB, recipient, text string) []byte {
	tb.Helper()
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// A public key of low order, with which everybody agrees on the same secret, is no key; neither is a post-quantum or a
// passphrase recipient, which agents do not have.
func TestRefusesWeakKeys(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		strings.Repeat("00", 32), "01" + strings.Repeat("00", 31),
		"e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
		"5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
	} {
		point, err := hex.DecodeString(raw)
		if err != nil {
			t.Fatal(err)
		}
		recipient := bech32(t, "age", point)
		if _, err := age.ParseX25519Recipient(recipient); err != nil {
			t.Fatalf("the test's own encoding is wrong: %v", err)
		}
		if err := (agesealer.Sealer{}).Check(recipient); fault.SlugOf(err) != "seal_key_invalid" {
			t.Errorf("%s: %v", raw, err)
		}
	}
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	if err := (agesealer.Sealer{}).Check(hybrid.Recipient().String()); fault.SlugOf(err) != "seal_key_invalid" {
		t.Errorf("a hybrid key: %v", err)
	}
}

// An identity that can not be read is refused without a word of it.
func TestIdentitiesAreNotRepeated(t *testing.T) {
	t.Parallel()
	identity, _, err := agesealer.NewIdentity()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", identity[:len(identity)-1], identity + "Q", strings.ToLower(identity[:30]) + identity[30:]} {
		_, err := agesealer.NewOpener(bad)
		if fault.SlugOf(err) != "seal_identity_invalid" || len(bad) > 20 && strings.Contains(err.Error(), bad[16:]) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

// bech32 encodes as BIP 173 says, as age's recipients are written.
func bech32(tb testing.TB, hrp string, data []byte) string {
	tb.Helper()
	const letters = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	var groups []byte
	acc, bits := 0, 0
	for _, b := range data {
		acc, bits = acc<<8|int(b), bits+8
		for bits >= 5 {
			bits -= 5
			groups = append(groups, byte(acc>>bits&31))
		}
		acc &= 1<<bits - 1
	}
	if bits > 0 {
		groups = append(groups, byte(acc<<(5-bits)&31))
	}
	var values []byte
	for _, c := range []byte(hrp) {
		values = append(values, c>>5)
	}
	values = append(values, 0)
	for _, c := range []byte(hrp) {
		values = append(values, c&31)
	}
	check := polymod(append(append(values, groups...), 0, 0, 0, 0, 0, 0)) ^ 1
	out := hrp + "1"
	for i := range 6 {
		groups = append(groups, byte(check>>(5*(5-i))&31))
	}
	for _, g := range groups {
		out += string(letters[g])
	}
	return out
}

func polymod(values []byte) uint32 {
	check := uint32(1)
	for _, v := range values {
		top := check >> 25
		check = (check&0x1ffffff)<<5 ^ uint32(v)
		for i, g := range []uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3} {
			if top>>i&1 == 1 {
				check ^= g
			}
		}
	}
	return check
}

// Whatever is given to Open, it opens nothing that was not sealed, and does not break.
func FuzzOpen(f *testing.F) {
	recipient, opener := key(f)
	sealed, err := agesealer.Sealer{}.Seal(recipient, home(), []byte("value"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sealed)
	f.Add(encrypted(f, recipient, "berth-secret-1\nins_1\nshop\n"))
	f.Add([]byte("age-encryption.org/v1\n-> X25519 AAAA\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		value, err := opener.Open(home(), text)
		if err == nil && (!bytes.Equal(text, sealed) || string(value) != "value") || err != nil && fault.SlugOf(err) != "sealed_invalid" {
			t.Fatalf("%x opened as %q (%v)", text, value, err)
		}
	})
}
