package signertest

import (
	"context"
	"crypto/ed25519"
	"crypto/sha512"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/signer"
)

// The signer in memory keeps every law.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Service { return always(NewMemory(1)) })
}

// A broken Memory fails every call, says why, and works again when it is repaired.
func TestMemoryBreaks(t *testing.T) {
	t.Parallel()
	m := NewMemory(1)
	own := create(t, m, signer.CA)
	cause := errors.New("the token was pulled out")
	m.Break(cause)
	_, err := m.Sign(t.Context(), own.ref, []byte("m"))
	refused(t, err, fault.Unavailable, "signer_unavailable")
	if !errors.Is(err, cause) || !errors.Is(m.Ping(t.Context()), cause) {
		t.Fatalf("the cause is lost: %v", err)
	}
	m.Break(nil)
	signs(t, m, own)
}

// Each mutant is the signer in memory with one fault, and the law that forbids the fault notices it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, laws(), m.law, func(testing.TB) Service {
				k := &mutant{Memory: NewMemory(1)}
				m.spoil(k)
				return always(k)
			})
		})
	}
}

// A service that loses its keys with the process, and one that brings destroyed keys back, are caught at the restart.
func TestMutantsAreCaughtAtRestart(t *testing.T) {
	t.Parallel()
	law.Caught(t, laws(), "keys and their ends survive a restart", func(testing.TB) Service {
		return Service{Open: func(testing.TB) signer.KMS { return NewMemory(1) }}
	})
	law.Caught(t, laws(), "keys and their ends survive a restart", func(testing.TB) Service {
		opened := 0
		k := &mutant{Memory: NewMemory(1)}
		hidden := map[signer.KeyRef]bool{}
		k.destroy = func(_ context.Context, ref signer.KeyRef) error { hidden[ref] = true; return nil }
		k.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
			if hidden[ref] && opened < 2 {
				return nil, signer.KeyNotFound()
			}
			return k.Memory.Sign(ctx, ref, message)
		}
		return Service{Open: func(testing.TB) signer.KMS { opened++; return k }}
	})
}

func always(k signer.KMS) Service { return Service{Open: func(testing.TB) signer.KMS { return k }} }

// mutant is Memory with some methods replaced.
type mutant struct {
	*Memory

	sign    func(context.Context, signer.KeyRef, []byte) ([]byte, error)
	create  func(context.Context, signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error)
	public  func(context.Context, signer.KeyRef) (ed25519.PublicKey, error)
	destroy func(context.Context, signer.KeyRef) error
	ping    func(context.Context) error
}

func (m *mutant) Sign(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
	if m.sign != nil {
		return m.sign(ctx, ref, message)
	}
	return m.Memory.Sign(ctx, ref, message)
}

func (m *mutant) Create(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
	if m.create != nil {
		return m.create(ctx, p)
	}
	return m.Memory.Create(ctx, p)
}

func (m *mutant) Public(ctx context.Context, ref signer.KeyRef) (ed25519.PublicKey, error) {
	if m.public != nil {
		return m.public(ctx, ref)
	}
	return m.Memory.Public(ctx, ref)
}

func (m *mutant) Destroy(ctx context.Context, ref signer.KeyRef) error {
	if m.destroy != nil {
		return m.destroy(ctx, ref)
	}
	return m.Memory.Destroy(ctx, ref)
}

func (m *mutant) Ping(ctx context.Context) error {
	if m.ping != nil {
		return m.ping(ctx)
	}
	return m.Memory.Ping(ctx)
}

type fate struct {
	name, law string
	spoil     func(m *mutant)
}

func mutants() []fate {
	return slices.Concat(signMutants(), referenceMutants(), keyMutants(), contextMutants())
}

func signMutants() []fate {
	return []fate{
		{"another key signs", "each key signs for itself only", func(m *mutant) {
			m.sign = func(ctx context.Context, _ signer.KeyRef, message []byte) ([]byte, error) {
				return m.Memory.Sign(ctx, "memory:device-token-1", message)
			}
		}},
		{"signs a digest", "a signature is Ed25519 over the message itself", func(m *mutant) {
			m.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
				sum := sha512.Sum512(message)
				return m.Memory.Sign(ctx, ref, sum[:])
			}
		}},
		{"signs a message of any length", "a message has 1 to 4096 bytes", func(m *mutant) {
			m.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
				private, err := m.find(ctx, ref)
				if err != nil {
					return nil, err
				}
				return ed25519.Sign(private, message), nil
			}
		}},
		{"writes into the message", "the message is left as it was", func(m *mutant) {
			m.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
				signature, err := m.Memory.Sign(ctx, ref, message)
				_ = append(message, "padding"...)
				return signature, err
			}
		}},
		{"answers from one buffer", "the message is left as it was", func(m *mutant) {
			buffer := make([]byte, ed25519.SignatureSize)
			m.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
				signature, err := m.Memory.Sign(ctx, ref, message)
				copy(buffer, signature)
				return buffer, err
			}
		}},
		{"one message at a time for all", "signing at once mixes nothing up", func(m *mutant) {
			var mu sync.Mutex // no data race, and still not safe: another caller's message comes between
			var current []byte
			m.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
				mu.Lock()
				current = message
				mu.Unlock()
				for range 100 {
					runtime.Gosched()
				}
				mu.Lock()
				defer mu.Unlock()
				return m.Memory.Sign(ctx, ref, current)
			}
		}},
	}
}

func referenceMutants() []fate {
	return []fate{
		{"an unknown reference signs", "a reference that was not given names no key", func(m *mutant) {
			m.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
				if signature, err := m.Memory.Sign(ctx, ref, message); err == nil {
					return signature, nil
				}
				return m.Memory.Sign(ctx, "memory:device-token-1", message)
			}
		}},
		{"tidies references up", "a reference that was not given names no key", func(m *mutant) {
			m.public = func(ctx context.Context, ref signer.KeyRef) (ed25519.PublicKey, error) {
				return m.Memory.Public(ctx, signer.KeyRef(strings.TrimSpace(string(ref))))
			}
		}},
		{"an error without a kind", "a reference that was not given names no key", func(m *mutant) {
			m.public = func(context.Context, signer.KeyRef) (ed25519.PublicKey, error) {
				return nil, errors.New("no such key")
			}
		}},
		{"destroys what is not its own", "a reference that was not given names no key", func(m *mutant) {
			m.destroy = func(context.Context, signer.KeyRef) error { return nil }
		}},
	}
}

func keyMutants() []fate {
	return []fate{
		{"takes any purpose", "every purpose has keys, and nothing else has", func(m *mutant) {
			m.create = func(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
				if !p.Known() {
					p = signer.CA
				}
				return m.Memory.Create(ctx, p)
			}
		}},
		{"one key for all purposes", "every purpose has keys, and nothing else has", func(m *mutant) {
			m.create = func(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
				if err := signer.CheckPurpose(p); err != nil || m.made == 0 {
					return m.Memory.Create(ctx, p)
				}
				public, err := m.Memory.Public(ctx, "memory:device-token-1")
				return "memory:device-token-1", public, err
			}
		}},
		{"a reference with spaces", "a reference is plain text within the bound", func(m *mutant) {
			m.create = func(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
				ref, public, err := m.Memory.Create(ctx, p)
				return ref + " of Berth", public, err
			}
		}},
		{"hands out its own slice", "a public key that was handed out is a copy", func(m *mutant) {
			m.public = func(ctx context.Context, ref signer.KeyRef) (ed25519.PublicKey, error) {
				private, err := m.find(ctx, ref)
				if err != nil {
					return nil, err
				}
				return ed25519.PublicKey(private[32:]), nil
			}
		}},
		{"destroying leaves the key", "a destroyed key is gone and takes no other along", func(m *mutant) {
			m.destroy = func(context.Context, signer.KeyRef) error { return nil }
		}},
		{"destroying takes all keys", "a destroyed key is gone and takes no other along", func(m *mutant) {
			m.destroy = func(context.Context, signer.KeyRef) error { clear(m.keys); return nil }
		}},
		{"a name is given again", "a destroyed key is gone and takes no other along", func(m *mutant) {
			m.destroy = func(ctx context.Context, ref signer.KeyRef) error {
				m.made = 0
				return m.Memory.Destroy(ctx, ref)
			}
		}},
		{"destroying twice fails", "destroying twice succeeds", func(m *mutant) {
			m.destroy = func(ctx context.Context, ref signer.KeyRef) error {
				if _, err := m.find(ctx, ref); err != nil {
					return err
				}
				return m.Memory.Destroy(ctx, ref)
			}
		}},
	}
}

func contextMutants() []fate {
	const heeds = "an ended context is heeded by every method"
	forget := context.WithoutCancel
	return []fate{
		{"Sign ignores the context", heeds, func(m *mutant) {
			m.sign = func(ctx context.Context, ref signer.KeyRef, message []byte) ([]byte, error) {
				return m.Memory.Sign(forget(ctx), ref, message)
			}
		}},
		{"Create ignores the context", heeds, func(m *mutant) {
			m.create = func(ctx context.Context, p signer.Purpose) (signer.KeyRef, ed25519.PublicKey, error) {
				return m.Memory.Create(forget(ctx), p)
			}
		}},
		{"Public ignores the context", heeds, func(m *mutant) {
			m.public = func(ctx context.Context, ref signer.KeyRef) (ed25519.PublicKey, error) {
				return m.Memory.Public(forget(ctx), ref)
			}
		}},
		{"Destroy ignores the context", heeds, func(m *mutant) {
			m.destroy = func(ctx context.Context, ref signer.KeyRef) error { return m.Memory.Destroy(forget(ctx), ref) }
		}},
		{"Ping ignores the context", heeds, func(m *mutant) {
			m.ping = func(context.Context) error { return nil }
		}},
		{"Ping never answers well", "a working service answers a ping", func(m *mutant) {
			m.ping = func(context.Context) error { return errors.New("down") }
		}},
		{"the context's error is lost", heeds, func(m *mutant) {
			m.ping = func(context.Context) error { return signer.Unreachable(errors.New("timeout")) }
		}},
	}
}
