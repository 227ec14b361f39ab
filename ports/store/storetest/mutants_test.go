package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/internal/law"
	"berth/ports/store"
)

// mutant is a store broken on purpose: a Memory of which a test replaces one thing.
type mutant struct {
	*Memory
	twist      func(ctx context.Context, t *tx, r *store.Roles)
	atomically func(ctx context.Context, fn body) error
	view       func(ctx context.Context, fn body) error
	beat       func(ctx context.Context, node string, t store.Ticket, d decide) (placement.Candidate, error)
	pulse      func(ctx context.Context, node string) (store.Pulse, error)
	poll       func(ctx context.Context, agent string) (store.Polled, error)
	caller     func(ctx context.Context, fingerprint string) (*identity.Credential, placement.NodeStatus, error)
}

type decide = func(*placement.Node, *placement.Lease) error

func (m *mutant) Atomically(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	if m.atomically != nil {
		return m.atomically(ctx, fn)
	}
	return m.Memory.Atomically(ctx, m.twisted(fn))
}

func (m *mutant) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	if m.view != nil {
		return m.view(ctx, fn)
	}
	return m.Memory.View(ctx, m.twisted(fn))
}

func (m *mutant) Beat(ctx context.Context, node string, t store.Ticket, d func(*placement.Node, *placement.Lease) error) (placement.Candidate, error) {
	if m.beat != nil {
		return m.beat(ctx, node, t, d)
	}
	return m.Memory.Beat(ctx, node, t, d)
}

func (m *mutant) Caller(ctx context.Context, fingerprint string) (*identity.Credential, placement.NodeStatus, error) {
	if m.caller != nil {
		return m.caller(ctx, fingerprint)
	}
	return m.Memory.Caller(ctx, fingerprint)
}

func (m *mutant) Pulse(ctx context.Context, node string) (store.Pulse, error) {
	if m.pulse != nil {
		return m.pulse(ctx, node)
	}
	return m.Memory.Pulse(ctx, node)
}

func (m *mutant) Poll(ctx context.Context, agent string) (store.Polled, error) {
	if m.poll != nil {
		return m.poll(ctx, agent)
	}
	return m.Memory.Poll(ctx, agent)
}

// twisted gives fn roles of which some are broken.
func (m *mutant) twisted(fn body) body {
	if m.twist == nil {
		return fn
	}
	return func(ctx context.Context, r *store.Roles) error {
		m.twist(ctx, r.Nonces.(nonces).tx, r)
		return fn(ctx, r)
	}
}

// broken is one mutant and the law that forbids its fault.
type broken struct {
	name, law string
	make      func(m *mutant)
}

// Each mutant is caught by the law that forbids its fault; the table says which.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	all := slices.Concat(isolationMutants(), recordMutants(), listMutants(), hotMutants(), logMutants(), standingMutants(),
		pulseMutants(), onceMutants(), originMutants(), putMutants(), catalogMutants(), objectMutants(), deploymentMutants(),
		clusterMutants(), intentMutants(), raceMutants(), pollMutants())
	var table strings.Builder
	for _, b := range all {
		table.WriteString("\n" + b.name + strings.Repeat(" ", max(1, 52-len(b.name))) + "→ " + b.law)
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, Laws(), b.law, func(testing.TB) store.Store {
				m := &mutant{Memory: NewMemory()}
				b.make(m)
				return m
			})
		})
	}
	t.Logf("%d mutants%s", len(all), table.String())
}

// A mutant without a fault keeps every law, so that what the others are caught at is their fault alone.
func TestTheMutantWithoutAFaultKeepsTheLaws(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) store.Store {
		return &mutant{Memory: NewMemory(), twist: func(context.Context, *tx, *store.Roles) {}}
	})
}

// twisting makes a mutant of a change of its roles.
func twisting(twist func(t *tx, r *store.Roles)) func(*mutant) {
	return func(m *mutant) { m.twist = func(_ context.Context, t *tx, r *store.Roles) { twist(t, r) } }
}
