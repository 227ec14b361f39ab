package identity

import (
	"bytes"
	"slices"

	"berth/domain/fault"
	"berth/domain/ident"
)

const (
	minIngressKey     = 32
	maxIngressSecrets = 2
)

// IngressSecret is a key that the ingress and the control plane share. Key has at least 32 random bytes.
type IngressSecret struct {
	ID  string
	Key []byte
}

// String names the secret and never shows it.
func (s IngressSecret) String() string { return "ingress secret " + s.ID }

// GoString names the secret and never shows it.
func (s IngressSecret) GoString() string { return s.String() }

func (s IngressSecret) check(field string) []*fault.Error {
	var short *fault.Error
	if len(s.Key) < minIngressKey {
		short = fault.New(fault.Invalid, "ingress_secret_short", "an ingress secret has at least 32 bytes").At(field + ".key")
	}
	return []*fault.Error{ident.Check(field+".id", s.ID), short}
}

// IngressSecrets are the secrets in force: one, or two while one is being rotated (I3), and the ids of those that no
// longer are. The zero value knows none and refuses every assertion.
type IngressSecrets struct {
	valid   []IngressSecret
	retired []string
}

// NewIngressSecrets takes one or two secrets, the one to seal with first, and the ids of retired ones, which are only
// remembered to name the refusal. Ids and keys are distinct. Every problem is named at once, each Invalid.
func NewIngressSecrets(valid []IngressSecret, retired []string) (IngressSecrets, error) {
	var faults []*fault.Error
	if len(valid) == 0 || len(valid) > maxIngressSecrets {
		faults = append(faults, fault.New(fault.Invalid, "ingress_secret_count",
			"one ingress secret is in force, or two while one is rotated").At("secrets"))
	}
	kept := IngressSecrets{retired: slices.Clone(retired)}
	for _, s := range valid {
		faults = append(faults, s.check("secrets")...)
		faults = append(faults, kept.clash(s))
		kept.valid = append(kept.valid, IngressSecret{ID: s.ID, Key: bytes.Clone(s.Key)})
	}
	if err := fault.All(faults...); err != nil {
		return IngressSecrets{}, err
	}
	return kept, nil
}

func (s IngressSecrets) clash(with IngressSecret) *fault.Error {
	taken := slices.Contains(s.retired, with.ID) || slices.ContainsFunc(s.valid, func(o IngressSecret) bool {
		return o.ID == with.ID || bytes.Equal(o.Key, with.Key)
	})
	if !taken {
		return nil
	}
	return fault.New(fault.Invalid, "ingress_secret_repeated",
		"each ingress secret has an id and a key of its own, and a retired id is never used again").At("secrets")
}

// Sealing returns the secret to seal with: the first. The zero secret where there is none.
func (s IngressSecrets) Sealing() IngressSecret {
	if len(s.valid) == 0 {
		return IngressSecret{}
	}
	return s.valid[0]
}

func (s IngressSecrets) find(id string) (IngressSecret, error) {
	for _, secret := range s.valid {
		if secret.ID == id {
			return secret, nil
		}
	}
	if slices.Contains(s.retired, id) {
		return IngressSecret{}, unauthenticated("assertion_secret_retired", "the assertion's secret is retired")
	}
	return IngressSecret{}, unauthenticated("assertion_secret_unknown", "the assertion's secret is not known")
}
