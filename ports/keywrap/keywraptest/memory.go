package keywraptest

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"berth/ports/keywrap"
)

// Memory is a wrapper whose key follows from a seed, so that a simulation can be run again, and that fails when it is told
// to. Use NewMemory.
type Memory struct {
	aead cipher.AEAD

	mu     sync.Mutex
	made   uint64
	broken error
}

var _ keywrap.Wrapper = (*Memory)(nil)

// NewMemory returns a wrapper under the key that the seed gives.
func NewMemory(seed uint64) *Memory {
	key := sha256.Sum256(fmt.Appendf(nil, "wrapping key %d", seed))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // AES takes 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // AES has the blocks that GCM needs
	}
	return &Memory{aead: aead}
}

// Break makes every call fail with Unavailable keywrap_unavailable because of cause, until Break(nil).
func (m *Memory) Break(cause error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.broken = cause
}

// Wrap wraps under a nonce that was not used before.
func (m *Memory) Wrap(ctx context.Context, binding string, secret []byte) ([]byte, error) {
	if err := m.ready(ctx, binding, len(secret)); err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.made++
	nonce := binary.BigEndian.AppendUint64(make([]byte, m.aead.NonceSize()-8), m.made)
	m.mu.Unlock()
	return m.aead.Seal(nonce, nonce, secret, []byte(binding)), nil
}

// Unwrap opens what Wrap made.
func (m *Memory) Unwrap(ctx context.Context, binding string, wrapped []byte) ([]byte, error) {
	if err := m.ready(ctx, binding, 0); err != nil {
		return nil, err
	}
	size := m.aead.NonceSize()
	if len(wrapped) < size {
		return nil, keywrap.Invalid()
	}
	secret, err := m.aead.Open(nil, wrapped[:size], wrapped[size:], []byte(binding))
	if err != nil {
		return nil, keywrap.Invalid().Because(err)
	}
	return secret, nil
}

func (m *Memory) ready(ctx context.Context, binding string, size int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken != nil {
		return keywrap.Unreachable(m.broken)
	}
	return keywrap.Check(ctx, binding, size)
}
