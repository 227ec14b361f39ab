// Package keywraptest is the suite that every key wrapper passes, and a wrapper in memory for other tests.
package keywraptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/keywrap"
)

// Service is one keeper. Each Open returns a wrapper on it, as a process that starts on it would. Stranger returns one on
// another keeper.
type Service struct {
	Open     func(tb testing.TB) keywrap.Wrapper
	Stranger func(tb testing.TB) keywrap.Wrapper
}

// Run checks every law, each on a service of its own.
func Run(t *testing.T, service func(tb testing.TB) Service) {
	t.Helper()
	law.Run(t, laws(), service)
}

func laws() []law.Law[Service] {
	return []law.Law[Service]{
		{Name: "what was wrapped comes back", Check: comesBack},
		{Name: "a secret opens for its binding only", Check: isBound},
		{Name: "each call wraps anew, and shows nothing", Check: wrapsAnew},
		{Name: "nothing of what was wrapped can be changed", Check: isWhole},
		{Name: "a secret has at most 64 KiB", Check: isBounded},
		{Name: "every process of a keeper opens what another wrapped", Check: survivesRestart},
		{Name: "another keeper opens nothing", Check: keepsToItself},
		{Name: "an ended context is heeded", Check: heedsContext},
		{Name: "what is given is left as it was", Check: leavesAlone},
		{Name: "wrapping at once mixes nothing up", Check: isConcurrent},
	}
}

func wrap(tb testing.TB, w keywrap.Wrapper, binding, secret string) []byte {
	tb.Helper()
	wrapped, err := w.Wrap(tb.Context(), binding, []byte(secret))
	if err != nil {
		tb.Fatalf("wrap: %v", err)
	}
	return wrapped
}

func opens(tb testing.TB, w keywrap.Wrapper, binding string, wrapped []byte, want string) {
	tb.Helper()
	got, err := w.Unwrap(tb.Context(), binding, wrapped)
	if err != nil || string(got) != want {
		tb.Fatalf("opened as %.20q (%v), not as %.20q", got, err, want)
	}
}

func refused(tb testing.TB, what string, got []byte, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if fault.KindOf(err) != kind || fault.SlugOf(err) != slug || len(got) > 0 {
		tb.Fatalf("%s: answered with %.20q and %v, not with %v %s", what, got, err, kind, slug)
	}
}

func comesBack(tb testing.TB, s Service) {
	tb.Helper()
	w := s.Open(tb)
	for _, secret := range []string{"", "s", "\x00\xff", string(bytes.Repeat([]byte("x"), keywrap.MaxSecret))} {
		opens(tb, w, "parameter/ins_1/shop/password", wrap(tb, w, "parameter/ins_1/shop/password", secret), secret)
	}
}

func isBound(tb testing.TB, s Service) {
	tb.Helper()
	w := s.Open(tb)
	wrapped := wrap(tb, w, "parameter/ins_1", "secret")
	for _, other := range []string{"parameter/ins_2", "parameter/ins_", "parameter/ins_10", "PARAMETER/INS_1", "p"} {
		got, err := w.Unwrap(tb.Context(), other, wrapped)
		refused(tb, "for "+other, got, err, fault.Invalid, "wrapped_invalid")
	}
	got, err := w.Unwrap(tb.Context(), "", wrapped)
	refused(tb, "for nothing", got, err, fault.Internal, "wrap_binding")
	got, err = w.Wrap(tb.Context(), "", []byte("secret"))
	refused(tb, "for nothing", got, err, fault.Internal, "wrap_binding")
}

func wrapsAnew(tb testing.TB, s Service) {
	tb.Helper()
	w := s.Open(tb)
	first, second := wrap(tb, w, "b", "a secret of some length"), wrap(tb, w, "b", "a secret of some length")
	const tail = 16 // past any header or nonce
	if bytes.Equal(first, second) || bytes.Equal(first[len(first)-tail:], second[len(second)-tail:]) {
		tb.Fatal("the same secret was wrapped to the same text")
	}
	for _, part := range []string{"secret", "some", "length"} {
		if bytes.Contains(first, []byte(part)) {
			tb.Fatalf("the ciphertext shows %q", part)
		}
	}
}

func isWhole(tb testing.TB, s Service) {
	tb.Helper()
	w := s.Open(tb)
	wrapped := wrap(tb, w, "b", "secret")
	check := func(what string, changed []byte) {
		tb.Helper()
		got, err := w.Unwrap(tb.Context(), "b", changed)
		refused(tb, what, got, err, fault.Invalid, "wrapped_invalid")
	}
	for at := range wrapped {
		changed := bytes.Clone(wrapped)
		changed[at] ^= 1
		check(fmt.Sprintf("byte %d is another", at), changed)
		check(fmt.Sprintf("%d bytes of it", at), wrapped[:at])
	}
	check("a byte more", append(bytes.Clone(wrapped), 0))
	check("a byte in front", append([]byte{0}, wrapped...))
	check("far too much", make([]byte, 2*keywrap.MaxSecret))
}

func isBounded(tb testing.TB, s Service) {
	tb.Helper()
	got, err := s.Open(tb).Wrap(tb.Context(), "b", make([]byte, keywrap.MaxSecret+1))
	refused(tb, "a longer secret", got, err, fault.Invalid, "secret_size")
}

func survivesRestart(tb testing.TB, s Service) {
	tb.Helper()
	first := s.Open(tb)
	wrapped := wrap(tb, first, "b", "secret")
	second := s.Open(tb)
	opens(tb, second, "b", wrapped, "secret")
	opens(tb, first, "b", wrap(tb, second, "b", "other"), "other")
}

func keepsToItself(tb testing.TB, s Service) {
	tb.Helper()
	wrapped := wrap(tb, s.Open(tb), "b", "secret")
	got, err := s.Stranger(tb).Unwrap(tb.Context(), "b", wrapped)
	refused(tb, "elsewhere", got, err, fault.Invalid, "wrapped_invalid")
}

func heedsContext(tb testing.TB, s Service) {
	tb.Helper()
	w := s.Open(tb)
	wrapped := wrap(tb, w, "b", "secret")
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	got, err := w.Wrap(ctx, "b", []byte("secret"))
	refused(tb, "wrapped", got, err, fault.Unavailable, "keywrap_unavailable")
	got, errUnwrap := w.Unwrap(ctx, "b", wrapped)
	refused(tb, "unwrapped", got, errUnwrap, fault.Unavailable, "keywrap_unavailable")
	if !errors.Is(err, context.Canceled) || !errors.Is(errUnwrap, context.Canceled) {
		tb.Fatalf("the context's error is lost: %v, %v", err, errUnwrap)
	}
}

func leavesAlone(tb testing.TB, s Service) {
	tb.Helper()
	w := s.Open(tb)
	buffer := append(make([]byte, 0, 128), "secret"...)
	wrapped, err := w.Wrap(tb.Context(), "b", buffer)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(buffer[:cap(buffer)], append([]byte("secret"), make([]byte, 122)...)) {
		tb.Fatal("wrapping wrote into the caller's buffer")
	}
	copy(buffer, "SECRET")
	kept := bytes.Clone(wrapped)
	opens(tb, w, "b", wrapped, "secret")
	if !bytes.Equal(wrapped, kept) {
		tb.Fatal("unwrapping wrote into the ciphertext")
	}
	first, err := w.Unwrap(tb.Context(), "b", wrapped)
	if err != nil {
		tb.Fatal(err)
	}
	opens(tb, w, "b", wrap(tb, w, "b", "others"), "others")
	if string(first) != "secret" {
		tb.Fatal("a later secret overwrote an earlier one")
	}
}

func isConcurrent(tb testing.TB, s Service) {
	tb.Helper()
	w := s.Open(tb)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for round := range 25 {
				secret := fmt.Sprintf("worker %d round %d", worker, round)
				wrapped, err := w.Wrap(tb.Context(), secret, []byte(secret))
				if err != nil {
					tb.Errorf("wrap %s: %v", secret, err)
					return
				}
				if got, err := w.Unwrap(tb.Context(), secret, wrapped); err != nil || string(got) != secret {
					tb.Errorf("%s came back as %q (%v)", secret, got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
