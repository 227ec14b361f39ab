package signertest

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"strings"
	"sync"
	"testing"

	"berth/domain/fault"
	"berth/ports/signer"
)

func signsTheMessage(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	own := create(tb, k, signer.DeviceToken)
	for _, message := range []string{"m", "a.b.c", "\x00\xff\x80", strings.Repeat("x", 1000)} {
		signature := sign(tb, k, own.ref, message)
		if len(signature) != ed25519.SignatureSize || !ed25519.Verify(own.public, []byte(message), signature) {
			tb.Fatalf("the signature of %q does not verify", message)
		}
		if ed25519.Verify(own.public, []byte(message+"!"), signature) {
			tb.Fatalf("the signature of %q verifies another message", message)
		}
	}
}

func keepsKeysApart(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	var keys []key
	for range 3 {
		keys = append(keys, create(tb, k, signer.DeviceToken))
	}
	for _, own := range keys {
		signs(tb, k, own)
		signature := sign(tb, k, own.ref, "message")
		for _, other := range keys {
			if other.ref != own.ref && ed25519.Verify(other.public, []byte("message"), signature) {
				tb.Fatalf("what %q signed verifies with the key of %q", own.ref, other.ref)
			}
		}
	}
	if keys[0].ref == keys[1].ref || keys[1].ref == keys[2].ref || keys[0].ref == keys[2].ref {
		tb.Fatal("two keys have one reference")
	}
}

func boundsMessages(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	own := create(tb, k, signer.Package)
	longest := strings.Repeat("x", signer.MaxMessage)
	if !ed25519.Verify(own.public, []byte(longest), sign(tb, k, own.ref, longest)) {
		tb.Fatal("the signature of the longest message does not verify")
	}
	for _, message := range [][]byte{nil, {}, []byte(longest + "x")} {
		_, err := k.Sign(tb.Context(), own.ref, message)
		refused(tb, err, fault.Invalid, "message_size")
	}
}

func leavesMessages(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	own := create(tb, k, signer.DeviceToken)
	buffer := append(make([]byte, 0, 64), "first"...)
	first, err := k.Sign(tb.Context(), own.ref, buffer)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(buffer[:cap(buffer)], append([]byte("first"), make([]byte, 59)...)) {
		tb.Fatalf("signing wrote into the caller's buffer: %q", buffer[:cap(buffer)])
	}
	kept := bytes.Clone(first)
	copy(buffer, "other")
	if _, err := k.Sign(tb.Context(), own.ref, buffer); err != nil {
		tb.Fatal(err)
	}
	if !bytes.Equal(first, kept) {
		tb.Fatal("a later signature overwrote an earlier one")
	}
}

func signsConcurrently(tb testing.TB, s Service) {
	tb.Helper()
	k := s.Open(tb)
	keys := []key{create(tb, k, signer.DeviceToken), create(tb, k, signer.DeviceToken)}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			own := keys[worker%len(keys)]
			for round := range 25 {
				message := fmt.Appendf(nil, "worker %d round %d", worker, round)
				signature, err := k.Sign(tb.Context(), own.ref, message)
				if err != nil || !ed25519.Verify(own.public, message, signature) {
					tb.Errorf("%s: the signature does not verify (%v)", message, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
