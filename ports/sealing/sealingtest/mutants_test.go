package sealingtest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"berth/ports/internal/law"
	"berth/ports/sealing"
)

func fake() Kit {
	return Kit{Fake{}, func(testing.TB) (string, sealing.Opener) {
		k := NewFakeKey()
		return k.Recipient(), k
	}}
}

// The fake keeps every law.
func TestFakeConforms(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Kit { return fake() })
}

type (
	check func(recipient string) error
	sealF func(recipient string, place sealing.Place, value []byte) ([]byte, error)
	openF func(place sealing.Place, sealed []byte) ([]byte, error)
)

type mutant struct {
	check check
	seal  sealF
}

func (m *mutant) Check(recipient string) error { return m.check(recipient) }
func (m *mutant) Seal(recipient string, place sealing.Place, value []byte) ([]byte, error) {
	return m.seal(recipient, place, value)
}

func (o openF) Open(place sealing.Place, sealed []byte) ([]byte, error) { return o(place, sealed) }

// opening puts another way of opening in place of every key's.
func opening(as func(k sealing.Opener) openF) func(*Kit, *mutant) {
	return func(kit *Kit, _ *mutant) {
		kit.NewKey = func(testing.TB) (string, sealing.Opener) {
			k := NewFakeKey()
			return k.Recipient(), as(k)
		}
	}
}

// Each mutant is the fake with one fault, and the law that forbids the fault notices it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for name, f := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, laws(), f.law, func(testing.TB) Kit {
				kit, m := fake(), &mutant{Fake{}.Check, Fake{}.Seal}
				f.spoil(&kit, m)
				kit.Sealer = m
				return kit
			})
		})
	}
}

type fate struct {
	law   string
	spoil func(kit *Kit, m *mutant)
}

func mutants() map[string]fate {
	shared := NewFakeKey()
	return map[string]fate{
		"checks no place": {"a value opens at its place only", opening(func(k sealing.Opener) openF {
			return func(_ sealing.Place, sealed []byte) ([]byte, error) { return k.Open(home(), sealed) }
		})},
		"a place in any case": {"a value opens at its place only", opening(func(k sealing.Opener) openF {
			return func(p sealing.Place, sealed []byte) ([]byte, error) {
				p.Parameter = strings.ToLower(p.Parameter)
				return k.Open(p, sealed)
			}
		})},
		"one key for all": {"a value opens for its key only", func(kit *Kit, m *mutant) {
			m.seal = func(_ string, p sealing.Place, v []byte) ([]byte, error) {
				return Fake{}.Seal(shared.Recipient(), p, v)
			}
			kit.NewKey = func(testing.TB) (string, sealing.Opener) { return NewFakeKey().Recipient(), shared }
		}},
		"seals nothing": {"each call seals anew, and shows nothing", func(_ *Kit, m *mutant) {
			m.seal = func(_ string, p sealing.Place, v []byte) ([]byte, error) { return sealing.Frame(p, v) }
		}},
		"takes what is damaged": {"nothing of what was sealed can be changed", opening(func(k sealing.Opener) openF {
			return func(p sealing.Place, sealed []byte) ([]byte, error) {
				if got, err := k.Open(p, sealed); err == nil {
					return got, nil
				}
				return []byte("value"), nil
			}
		})},
		"takes what follows": {"nothing of what was sealed can be changed", opening(func(k sealing.Opener) openF {
			whole := 0
			return func(p sealing.Place, sealed []byte) ([]byte, error) {
				whole = max(whole, 32+len("berth-secret-1\nins_1\nshop\npassword\nvalue")+16)
				return k.Open(p, sealed[:min(len(sealed), whole)])
			}
		})},
		"an error without a kind": {"nothing of what was sealed can be changed", opening(func(sealing.Opener) openF {
			return func(sealing.Place, []byte) ([]byte, error) { return nil, errors.New("no") }
		})},
		"trims the value": {"what was sealed opens as it was", func(_ *Kit, m *mutant) {
			m.seal = func(r string, p sealing.Place, v []byte) ([]byte, error) {
				return Fake{}.Seal(r, p, bytes.TrimSpace(v))
			}
		}},
		"takes any size": {"a value has at most 64 KiB", func(_ *Kit, m *mutant) {
			m.seal = func(r string, p sealing.Place, v []byte) ([]byte, error) {
				return Fake{}.Seal(r, p, v[:min(len(v), sealing.MaxValue)])
			}
		}},
		"checks no recipient": {"only a recipient is sealed to", func(_ *Kit, m *mutant) {
			m.check = func(string) error { return nil }
		}},
		"tidies recipients up": {"only a recipient is sealed to", func(_ *Kit, m *mutant) {
			m.check = func(r string) error { return Fake{}.Check(strings.ToLower(strings.TrimSpace(r))) }
		}},
		"refuses every recipient": {"only a recipient is sealed to", func(_ *Kit, m *mutant) {
			m.check = func(string) error { return sealing.SealKeyInvalid() }
		}},
		"seals for nothing": {"a place names three things", func(_ *Kit, m *mutant) {
			m.seal = func(r string, _ sealing.Place, v []byte) ([]byte, error) { return Fake{}.Seal(r, home(), v) }
		}},
		"writes into the value": {"what is given is left as it was", func(_ *Kit, m *mutant) {
			m.seal = func(r string, p sealing.Place, v []byte) ([]byte, error) {
				_ = append(v, "padding"...)
				return Fake{}.Seal(r, p, v)
			}
		}},
		"opens into one buffer": {"what is given is left as it was", opening(func(k sealing.Opener) openF {
			buffer := make([]byte, 0, 64)
			return func(p sealing.Place, sealed []byte) ([]byte, error) {
				got, err := k.Open(p, sealed)
				return append(buffer, got...), err
			}
		})},
	}
}
