// Package signertest is the suite that every signer passes, and a signer in memory for other tests.
package signertest

import (
	"context"
	"crypto/ed25519"
	"testing"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/signer"
)

// Service is one key storage. Each Open returns a signer on it, as a process that starts on it would; the suite opens
// it more than once.
type Service struct {
	Open func(tb testing.TB) signer.KMS
}

// Run checks every law, each on a service of its own.
func Run(t *testing.T, service func(tb testing.TB) Service) {
	t.Helper()
	law.Run(t, laws(), service)
}

func laws() []law.Law[Service] {
	return []law.Law[Service]{
		{Name: "a signature is Ed25519 over the message itself", Check: signsTheMessage},
		{Name: "each key signs for itself only", Check: keepsKeysApart},
		{Name: "a message has 1 to 4096 bytes", Check: boundsMessages},
		{Name: "the message is left as it was", Check: leavesMessages},
		{Name: "signing at once mixes nothing up", Check: signsConcurrently},
		{Name: "every purpose has keys, and nothing else has", Check: knowsPurposes},
		{Name: "a reference is plain text within the bound", Check: boundsReferences},
		{Name: "a reference that was not given names no key", Check: refusesStrangers},
		{Name: "a public key that was handed out is a copy", Check: copiesPublicKeys},
		{Name: "a destroyed key is gone and takes no other along", Check: destroys},
		{Name: "destroying twice succeeds", Check: destroysTwice},
		{Name: "keys and their ends survive a restart", Check: survivesRestart},
		{Name: "an ended context is heeded by every method", Check: heedsContext},
		{Name: "a working service answers a ping", Check: pings},
	}
}

type key struct {
	ref    signer.KeyRef
	public ed25519.PublicKey
}

func create(tb testing.TB, k signer.KMS, purpose signer.Purpose) key {
	tb.Helper()
	ref, public, err := k.Create(tb.Context(), purpose)
	if err != nil {
		tb.Fatalf("create a key for %s: %v", purpose, err)
	}
	if len(public) != ed25519.PublicKeySize {
		tb.Fatalf("the public key has %d bytes", len(public))
	}
	return key{ref, public}
}

func sign(tb testing.TB, k signer.KMS, ref signer.KeyRef, message string) []byte {
	tb.Helper()
	signature, err := k.Sign(tb.Context(), ref, []byte(message))
	if err != nil {
		tb.Fatalf("sign with %q: %v", ref, err)
	}
	return signature
}

// signs checks that the key works whole: it is found, and signs for the public half it was created with.
func signs(tb testing.TB, k signer.KMS, own key) {
	tb.Helper()
	public, err := k.Public(tb.Context(), own.ref)
	if err != nil || !public.Equal(own.public) {
		tb.Fatalf("the public key of %q is %x (%v), it was created as %x", own.ref, public, err, own.public)
	}
	if !ed25519.Verify(own.public, []byte("proof"), sign(tb, k, own.ref, "proof")) {
		tb.Fatalf("%q does not sign for its public key", own.ref)
	}
}

// unknown checks that the reference names no key, whatever is asked of it.
func unknown(tb testing.TB, k signer.KMS, ref signer.KeyRef) {
	tb.Helper()
	signature, err := k.Sign(tb.Context(), ref, []byte("proof"))
	refused(tb, err, fault.NotFound, "key_not_found")
	if len(signature) != 0 {
		tb.Fatalf("a refusal came with the signature %x", signature)
	}
	_, err = k.Public(tb.Context(), ref)
	refused(tb, err, fault.NotFound, "key_not_found")
}

func refused(tb testing.TB, err error, kind fault.Kind, slug string) {
	tb.Helper()
	if err == nil || fault.KindOf(err) != kind || fault.SlugOf(err) != slug {
		tb.Fatalf("answered with %v, not with %v %s", err, kind, slug)
	}
}

func ended(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithCancel(tb.Context())
	cancel()
	return ctx
}
