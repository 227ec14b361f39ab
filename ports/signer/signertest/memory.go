package signertest

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"

	"berth/ports/signer"
)

// Memory is a signer whose keys follow from a seed, so that a test or a simulation can be run again, and that fails when
// it is told to. Use NewMemory.
type Memory struct {
	seed uint64

	mu     sync.Mutex
	made   int
	keys   map[signer.KeyRef]ed25519.PrivateKey
	broken error
}

var _ signer.KMS = (*Memory)(nil)

const memoryScheme = "memory:"

// NewMemory returns a signer without keys.
func NewMemory(seed uint64) *Memory {
	return &Memory{seed: seed, keys: map[signer.KeyRef]ed25519.PrivateKey{}}
}

// Break makes every call fail with Unavailable signer_unavailable because of cause, until Break(nil).
func (m *Memory) Break(cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = cause
}

// Sign signs with the key of the reference.
func (m *Memory) Sign(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
	private, err := m.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := signer.CheckMessage(message); err != nil {
		return nil, err
	}
	return ed25519.Sign(private, message), nil
}

// Create makes the next key that the seed gives.
func (m *Memory) Create(ctx context.Context, purpose signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return "", nil, err
	}
	if err := signer.CheckPurpose(purpose); err != nil {
		return "", nil, err
	}
	m.made++
	seed := sha256.Sum256(fmt.Appendf(nil, "%d/%d", m.seed, m.made))
	private := ed25519.NewKeyFromSeed(seed[:])
	ref := signer.KeyRef(fmt.Sprintf("%s%s-%d", memoryScheme, purpose, m.made))
	m.keys[ref] = private
	return ref, publicOf(private), nil
}

// Public returns the public half of the key of the reference.
func (m *Memory) Public(ctx context.Context, ref signer.KeyRef) (ed25519.PublicKey, error) {
	private, err := m.find(ctx, ref)
	if err != nil {
		return nil, err
	}
	return publicOf(private), nil
}

// Destroy forgets the key of the reference.
func (m *Memory) Destroy(ctx context.Context, ref signer.KeyRef) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return err
	}
	if !strings.HasPrefix(string(ref), memoryScheme) {
		return signer.KeyNotFound()
	}
	delete(m.keys, ref)
	return nil
}

// Ping answers unless it was told to fail.
func (m *Memory) Ping(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ready(ctx)
}

func (m *Memory) find(ctx context.Context, ref signer.KeyRef) (ed25519.PrivateKey, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.ready(ctx); err != nil {
		return nil, err
	}
	private, ok := m.keys[ref]
	if !ok {
		return nil, signer.KeyNotFound()
	}
	return private, nil
}

func (m *Memory) ready(ctx context.Context) error {
	if m.broken != nil {
		return signer.Unreachable(m.broken)
	}
	return signer.Ended(ctx)
}

func publicOf(private ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(slices.Clone(private[ed25519.PrivateKeySize-ed25519.PublicKeySize:]))
}
