package signertest

import (
	"context"
	"crypto/ed25519"
	"errors"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/ports/signer"
)

func knowsPurposes(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	seen := map[string]bool{}
	for _, purpose := range signer.Purposes() {
		own := create(tb, k, purpose)
		signs(tb, k, own)
		if seen[string(own.public)] {
			tb.Fatalf("the key for %s serves another purpose too", purpose)
		}
		seen[string(own.public)] = true
	}
	for _, purpose := range []signer.Purpose{"", "Device-Token", "device-token ", "../ca", "root"} {
		ref, _, err := k.Create(tb.Context(), purpose)
		refused(tb, err, fault.Invalid, "unknown_purpose")
		if ref != "" {
			tb.Fatalf("a refusal came with the reference %q", ref)
		}
	}
}

func boundsReferences(tb testing.TB, s Service) {
	tb.Helper()
	ref := create(tb, s.Open(tb), signer.BackupManifest).ref
	outside := func(r rune) bool { return r <= ' ' || r > '~' }
	if ref == "" || len(ref) > signer.MaxRef || strings.ContainsFunc(string(ref), outside) {
		tb.Fatalf("%q is no reference", ref)
	}
}

// strangers are references that resemble a true one. A signer that tidies up what it is given finds a key behind some.
func strangers(own signer.KeyRef) []signer.KeyRef {
	ref := string(own)
	scheme, rest, _ := strings.Cut(ref, ":")
	list := []string{
		"", " ", ".", "..", "/", "\x00", "nothing", "nowhere:key", scheme, scheme + ":", scheme + ":.", scheme + ":..",
		scheme + ":/etc/passwd", scheme + ":../" + rest, scheme + ":./" + rest, scheme + "::" + rest, scheme + ":x/../" + rest,
		" " + ref, ref + " ", ref + "\n", ref + "\x00", ref + "/", ref + "x", ref + "?", ref + "#", ref + ".pem",
		ref[:len(ref)-1], strings.ToUpper(ref), "%66ile:" + rest, rest, scheme + ":" + strings.Repeat("x", signer.MaxRef),
	}
	refs := make([]signer.KeyRef, len(list))
	for i, s := range list {
		refs[i] = signer.KeyRef(s)
	}
	return refs
}

func refusesStrangers(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	own := create(tb, k, signer.DeviceToken)
	for _, ref := range strangers(own.ref) {
		unknown(tb, k, ref)
		if err := k.Destroy(tb.Context(), ref); err != nil {
			refused(tb, err, fault.NotFound, "key_not_found")
		}
	}
	for _, ref := range []signer.KeyRef{"", "nowhere:key"} {
		refused(tb, k.Destroy(tb.Context(), ref), fault.NotFound, "key_not_found")
	}
	signs(tb, k, own)
}

func copiesPublicKeys(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	own := create(tb, k, signer.DeviceToken)
	kept := key{own.ref, append(ed25519.PublicKey(nil), own.public...)}
	clear(own.public)
	signs(tb, k, kept)
	public, err := k.Public(tb.Context(), own.ref)
	if err != nil {
		tb.Fatal(err)
	}
	clear(public)
	signs(tb, k, kept)
}

func destroys(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	gone, stays := create(tb, k, signer.DeviceToken), create(tb, k, signer.DeviceToken)
	signs(tb, k, gone)
	if err := k.Destroy(tb.Context(), gone.ref); err != nil {
		tb.Fatal(err)
	}
	unknown(tb, k, gone.ref)
	signs(tb, k, stays)
	if next := create(tb, k, signer.DeviceToken); next.ref == gone.ref || next.public.Equal(gone.public) {
		tb.Fatal("a destroyed key came back as a new one")
	}
	unknown(tb, k, gone.ref)
}

func destroysTwice(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	own := create(tb, k, signer.CA)
	for range 2 {
		if err := k.Destroy(tb.Context(), own.ref); err != nil {
			tb.Fatal(err)
		}
	}
	unknown(tb, k, own.ref)
}

func survivesRestart(tb testing.TB, s Service) {
	tb.Helper()
	before := s.Open(tb)
	stays, gone := create(tb, before, signer.DesiredState), create(tb, before, signer.DesiredState)
	if err := before.Destroy(tb.Context(), gone.ref); err != nil {
		tb.Fatal(err)
	}
	after := s.Open(tb)
	signs(tb, after, stays)
	unknown(tb, after, gone.ref)
}

func heedsContext(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	own, ctx := create(tb, k, signer.AuditCheckpoint), ended(tb)
	calls := map[string]func() error{
		"Sign":    func() error { _, err := k.Sign(ctx, own.ref, []byte("m")); return err },
		"Create":  func() error { _, _, err := k.Create(ctx, signer.AuditCheckpoint); return err },
		"Public":  func() error { _, err := k.Public(ctx, own.ref); return err },
		"Destroy": func() error { return k.Destroy(ctx, own.ref) },
		"Ping":    func() error { return k.Ping(ctx) },
	}
	for name, call := range calls {
		err := call()
		if fault.SlugOf(err) != "signer_unavailable" || fault.KindOf(err) != fault.Unavailable ||
			!errors.Is(err, context.Canceled) {
			tb.Errorf("%s answered an ended context with %v", name, err)
		}
	}
	signs(tb, k, own)
}

func pings(tb testing.TB, s Service) {
	tb.Helper()
	if err := s.Open(tb).Ping(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}
