package keywraptest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/keywrap"
)

func always(w keywrap.Wrapper) Service {
	return Service{
		Open:     func(testing.TB) keywrap.Wrapper { return w },
		Stranger: func(testing.TB) keywrap.Wrapper { return NewMemory(2) },
	}
}

// The wrapper in memory keeps every law.
func TestMemoryConforms(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Service { return always(NewMemory(1)) })
}

// A broken Memory fails every call and says why, until it is repaired.
func TestMemoryBreaks(t *testing.T) {
	t.Parallel()
	m, cause := NewMemory(1), errors.New("the keeper is gone")
	m.Break(cause)
	got, err := m.Wrap(t.Context(), "b", []byte("secret"))
	refused(t, "broken", got, err, fault.Unavailable, "keywrap_unavailable")
	if _, err := m.Unwrap(t.Context(), "b", nil); !errors.Is(err, cause) {
		t.Fatalf("the cause is lost: %v", err)
	}
	m.Break(nil)
	opens(t, m, "b", wrap(t, m, "b", "secret"), "secret")
}

type call func(ctx context.Context, binding string, in []byte) ([]byte, error)

// mutant is Memory with some methods replaced.
type mutant struct{ wrap, unwrap call }

func (m *mutant) Wrap(ctx context.Context, binding string, secret []byte) ([]byte, error) {
	return m.wrap(ctx, binding, secret)
}

func (m *mutant) Unwrap(ctx context.Context, binding string, wrapped []byte) ([]byte, error) {
	return m.unwrap(ctx, binding, wrapped)
}

// Each mutant is the wrapper in memory with one fault, and the law that forbids the fault notices it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for name, f := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, laws(), f.law, func(testing.TB) Service {
				memory := NewMemory(1)
				m := &mutant{memory.Wrap, memory.Unwrap}
				f.spoil(m)
				return always(m)
			})
		})
	}
}

// A key that ends with its process, and one that every keeper has, are caught by the processes they are told by.
func TestMutantsAreCaughtAcrossProcesses(t *testing.T) {
	t.Parallel()
	seed := uint64(0)
	law.Caught(t, laws(), "every process of a keeper opens what another wrapped", func(testing.TB) Service {
		return Service{Open: func(testing.TB) keywrap.Wrapper { seed++; return NewMemory(seed) }}
	})
	law.Caught(t, laws(), "another keeper opens nothing", func(testing.TB) Service {
		s := always(NewMemory(1))
		s.Stranger = s.Open
		return s
	})
}

type fate struct {
	law   string
	spoil func(m *mutant)
}

func mutants() map[string]fate {
	return map[string]fate{
		"no binding": {"a secret opens for its binding only", func(m *mutant) {
			wrap, unwrap := m.wrap, m.unwrap
			m.wrap = func(ctx context.Context, _ string, in []byte) ([]byte, error) { return wrap(ctx, "b", in) }
			m.unwrap = func(ctx context.Context, _ string, in []byte) ([]byte, error) { return unwrap(ctx, "b", in) }
		}},
		"a binding in any case": {"a secret opens for its binding only", func(m *mutant) {
			wrap, unwrap := m.wrap, m.unwrap
			m.wrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				return wrap(ctx, strings.ToLower(b), in)
			}
			m.unwrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				return unwrap(ctx, strings.ToLower(b), in)
			}
		}},
		"always the same": {"each call wraps anew, and shows nothing", func(m *mutant) {
			m.wrap = func(ctx context.Context, b string, in []byte) ([]byte, error) { return NewMemory(1).Wrap(ctx, b, in) }
		}},
		"wraps nothing": {"each call wraps anew, and shows nothing", func(m *mutant) {
			n := byte(0)
			m.wrap = func(_ context.Context, _ string, in []byte) ([]byte, error) {
				n++
				return append([]byte{n}, in...), nil
			}
		}},
		"checks no seal": {"nothing of what was wrapped can be changed", func(m *mutant) {
			unwrap := m.unwrap
			m.unwrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				if got, err := unwrap(ctx, b, in); err == nil {
					return got, nil
				}
				return []byte("secret"), nil
			}
		}},
		"takes what follows": {"nothing of what was wrapped can be changed", func(m *mutant) {
			unwrap := m.unwrap
			m.unwrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				return unwrap(ctx, b, in[:min(len(in), 12+6+16)])
			}
		}},
		"an error without a kind": {"nothing of what was wrapped can be changed", func(m *mutant) {
			m.unwrap = func(context.Context, string, []byte) ([]byte, error) { return nil, errors.New("no") }
		}},
		"cuts the secret": {"what was wrapped comes back", func(m *mutant) {
			wrap := m.wrap
			m.wrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				return wrap(ctx, b, in[:min(len(in), 1024)])
			}
		}},
		"takes any size": {"a secret has at most 64 KiB", func(m *mutant) {
			wrap := m.wrap
			m.wrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				return wrap(ctx, b, in[:min(len(in), keywrap.MaxSecret)])
			}
		}},
		"wraps without the context": {"an ended context is heeded", func(m *mutant) {
			wrap := m.wrap
			m.wrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				return wrap(context.WithoutCancel(ctx), b, in)
			}
		}},
		"unwraps without the context": {"an ended context is heeded", func(m *mutant) {
			unwrap := m.unwrap
			m.unwrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				return unwrap(context.WithoutCancel(ctx), b, in)
			}
		}},
		"writes into the secret": {"what is given is left as it was", func(m *mutant) {
			wrap := m.wrap
			m.wrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				_ = append(in, "padding"...)
				return wrap(ctx, b, in)
			}
		}},
		"answers from one buffer": {"what is given is left as it was", func(m *mutant) {
			unwrap, buffer := m.unwrap, make([]byte, 0, 128)
			m.unwrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				got, err := unwrap(ctx, b, in)
				return append(buffer, got...), err
			}
		}},
		"one at a time for all": {"wrapping at once mixes nothing up", func(m *mutant) {
			wrap := m.wrap
			var mu sync.Mutex // no data race, and still not safe: another caller's secret comes between
			var current []byte
			m.wrap = func(ctx context.Context, b string, in []byte) ([]byte, error) {
				mu.Lock()
				current = in
				mu.Unlock()
				for range 100 {
					runtime.Gosched()
				}
				mu.Lock()
				defer mu.Unlock()
				return wrap(ctx, b, bytes.Clone(current))
			}
		}},
		"shows a digest's text": {"each call wraps anew, and shows nothing", func(m *mutant) {
			m.wrap = func(_ context.Context, _ string, in []byte) ([]byte, error) {
				sum := sha256.Sum256(in)
				return sum[:], nil
			}
		}},
	}
}
