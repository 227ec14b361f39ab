// Package sealingtest is the suite that every sealer passes, and a sealer on the standard library for other tests.
package sealingtest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/sealing"
)

// Kit is a sealer, and a source of keys that it can seal to.
type Kit struct {
	sealing.Sealer
	NewKey func(tb testing.TB) (recipient string, opener sealing.Opener)
}

// Run checks every law.
func Run(t *testing.T, open func(tb testing.TB) Kit) {
	t.Helper()
	law.Run(t, laws(), open)
}

func laws() []law.Law[Kit] {
	return []law.Law[Kit]{
		{Name: "what was sealed opens as it was", Check: comesBack},
		{Name: "a value opens at its place only", Check: staysInPlace},
		{Name: "a value opens for its key only", Check: staysWithKey},
		{Name: "each call seals anew, and shows nothing", Check: sealsAnew},
		{Name: "nothing of what was sealed can be changed", Check: isWhole},
		{Name: "a value has at most 64 KiB", Check: isBounded},
		{Name: "only a recipient is sealed to", Check: knowsRecipients},
		{Name: "a place names three things", Check: needsAPlace},
		{Name: "what is given is left as it was", Check: leavesAlone},
	}
}

func home() sealing.Place {
	return sealing.Place{InstallID: "ins_1", App: "shop", Parameter: "password"}
}

func seal(tb testing.TB, k Kit, recipient, value string) []byte {
	tb.Helper()
	sealed, err := k.Seal(recipient, home(), []byte(value))
	if err != nil {
		tb.Fatalf("seal: %v", err)
	}
	return sealed
}

func refused(tb testing.TB, what string, got []byte, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if fault.KindOf(err) != kind || fault.SlugOf(err) != slug || len(got) > 0 {
		tb.Fatalf("%s: answered with %.20q and %v, not with %v %s", what, got, err, kind, slug)
	}
}

func comesBack(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, opener := k.NewKey(tb)
	for _, value := range []string{"", "v", "a\nb\n", "\x00\xff", strings.Repeat("x", sealing.MaxValue)} {
		got, err := opener.Open(home(), seal(tb, k, recipient, value))
		if err != nil || string(got) != value {
			tb.Fatalf("%.20q opened as %.20q (%v)", value, got, err)
		}
	}
}

func staysInPlace(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, opener := k.NewKey(tb)
	sealed := seal(tb, k, recipient, "value")
	for _, other := range []sealing.Place{
		{InstallID: "ins_2", App: "shop", Parameter: "password"}, {InstallID: "ins_1", App: "till", Parameter: "password"},
		{InstallID: "ins_1", App: "shop", Parameter: "other"}, {InstallID: "ins_1", App: "shop", Parameter: "Password"},
		{InstallID: "ins_1", App: "shop", Parameter: "passwor"}, {InstallID: "shop", App: "ins_1", Parameter: "password"}, {},
	} {
		got, err := opener.Open(other, sealed)
		refused(tb, fmt.Sprint(other), got, err, fault.Invalid, "sealed_elsewhere")
	}
}

func staysWithKey(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, _ := k.NewKey(tb)
	another, stranger := k.NewKey(tb)
	if recipient == another {
		tb.Fatal("two keys have one recipient")
	}
	got, err := stranger.Open(home(), seal(tb, k, recipient, "value"))
	refused(tb, "another key", got, err, fault.Invalid, "sealed_invalid")
}

func sealsAnew(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, _ := k.NewKey(tb)
	first, second := seal(tb, k, recipient, "a value of some length"), seal(tb, k, recipient, "a value of some length")
	const tail = 16
	if bytes.Equal(first[len(first)-tail:], second[len(second)-tail:]) {
		tb.Fatal("the same value was sealed to the same text")
	}
	for _, part := range []string{"value", "length", "shop", "password"} {
		if bytes.Contains(first, []byte(part)) {
			tb.Fatalf("the ciphertext shows %q", part)
		}
	}
}

func isWhole(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, opener := k.NewKey(tb)
	sealed := seal(tb, k, recipient, "value")
	check := func(what string, changed []byte) {
		tb.Helper()
		got, err := opener.Open(home(), changed)
		refused(tb, what, got, err, fault.Invalid, "sealed_invalid")
	}
	for at := range sealed {
		changed := bytes.Clone(sealed)
		changed[at] ^= 1
		check(fmt.Sprintf("byte %d is another", at), changed)
		check(fmt.Sprintf("%d bytes of it", at), sealed[:at])
	}
	check("a byte more", append(bytes.Clone(sealed), 0))
	check("far too much", append(bytes.Clone(sealed), make([]byte, 4*sealing.MaxValue)...))
	check("nothing", nil)
}

func isBounded(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, _ := k.NewKey(tb)
	got, err := k.Seal(recipient, home(), make([]byte, sealing.MaxValue+1))
	refused(tb, "a longer value", got, err, fault.Invalid, "secret_size")
}

func knowsRecipients(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, _ := k.NewKey(tb)
	if err := k.Check(recipient); err != nil {
		tb.Fatalf("a recipient is refused: %v", err)
	}
	middle := len(recipient) / 2
	for _, bad := range []string{
		"", "age1", recipient[:len(recipient)-1], recipient + "q", " " + recipient, recipient + "\n", strings.ToUpper(recipient),
		recipient[:middle] + "b" + recipient[middle+1:] + "b", "ssh-ed25519 AAAA", strings.Repeat("a", 1<<20),
	} {
		err := k.Check(bad)
		refused(tb, "checked", nil, err, fault.Invalid, "seal_key_invalid")
		got, err := k.Seal(bad, home(), []byte("value"))
		refused(tb, "sealed to", got, err, fault.Invalid, "seal_key_invalid")
	}
}

func needsAPlace(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, _ := k.NewKey(tb)
	for _, place := range []sealing.Place{
		{}, {InstallID: "ins_1", App: "shop"}, {InstallID: "ins_1", Parameter: "password"}, {App: "shop", Parameter: "password"},
		{InstallID: "ins_1\nshop", App: "x", Parameter: "y"}, {InstallID: strings.Repeat("i", sealing.MaxName+1), App: "x", Parameter: "y"},
	} {
		got, err := k.Seal(recipient, place, []byte("value"))
		refused(tb, fmt.Sprint(place), got, err, fault.Internal, "seal_place")
	}
}

func leavesAlone(tb testing.TB, k Kit) {
	tb.Helper()
	recipient, opener := k.NewKey(tb)
	buffer := append(make([]byte, 0, 64), "value"...)
	sealed, err := k.Seal(recipient, home(), buffer)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(buffer[:cap(buffer)], append([]byte("value"), make([]byte, 59)...)) {
		tb.Fatal("sealing wrote into the caller's buffer")
	}
	kept := bytes.Clone(sealed)
	first, err := opener.Open(home(), sealed)
	if err != nil || !bytes.Equal(sealed, kept) {
		tb.Fatalf("opening wrote into the ciphertext (%v)", err)
	}
	if _, err := opener.Open(home(), seal(tb, k, recipient, "other")); err != nil || string(first) != "value" {
		tb.Fatalf("a later value overwrote an earlier one (%v)", err)
	}
}
