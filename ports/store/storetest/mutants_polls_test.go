package storetest

import (
	"context"
	"reflect"
	"sync"

	"berth/domain/delivery"
	"berth/ports/store"
)

func raceMutants() []broken {
	snapshot := func(m *mutant) { m.atomically = m.snapshot }
	unlocked := func(m *mutant) { m.atomically = m.unlocked }
	return []broken{
		{"snapshot isolation: the last of a quota", "no two take the last of a quota", snapshot},
		{"snapshot isolation: a deployment for the last of a quota", "no two deployments are made for the last of a quota", snapshot},
		{"snapshot isolation: a second intent in flight", "no phantom gets among the intents in flight", snapshot},
		{"a head is made of one that is not there any more", "of desired states made at once each is of the one before", unlocked},
		{"a review is lost to a change", "reviews and changes of a deployment lose nothing", unlocked},
		{"two agents enroll", "of agents enrolled at once one gets the deployment", unlocked},
	}
}

func pollMutants() []broken {
	poll := func(poll func(ctx context.Context, m *Memory, agent string) (store.Polled, error)) func(*mutant) {
		return func(m *mutant) {
			m.poll = func(ctx context.Context, agent string) (store.Polled, error) { return poll(ctx, m.Memory, agent) }
		}
	}
	out := []broken{
		{"an agent is answered for another", "a poll of an unknown agent is NotFound among known ones", poll(
			func(ctx context.Context, m *Memory, agent string) (store.Polled, error) {
				at, err := m.Poll(ctx, agent)
				if err != nil {
					return m.Poll(ctx, AgentName(0))
				}
				return at, nil
			})},
		{"an agent of nothing is answered", "a poll of an unknown agent is NotFound among known ones", poll(
			func(ctx context.Context, m *Memory, agent string) (store.Polled, error) {
				at, err := m.Poll(ctx, agent)
				if r, enrolled := m.state.Load().agents.get(agent); err != nil && enrolled {
					return store.Polled{InstallID: r.InstallID}, nil
				}
				return at, err
			})},
		{"polls are cached", "a poll sees what was committed before the call", func(m *mutant) {
			var known sync.Map
			m.poll = func(ctx context.Context, agent string) (store.Polled, error) {
				if at, found := known.Load(agent); found {
					return at.(store.Polled), nil
				}
				at, err := m.Memory.Poll(ctx, agent)
				known.Store(agent, at)
				return at, err
			}
		}},
		{"polls share a key", "polls share nothing", poll(func(ctx context.Context, m *Memory, agent string) (store.Polled, error) {
			at, err := m.Poll(ctx, agent)
			r, _ := m.state.Load().agents.get(agent)
			at.PublicKey = r.PublicKey
			return at, err
		})},
		{"a poll wants the writer's turn", "a poll waits for no writer", poll(
			func(ctx context.Context, m *Memory, agent string) (store.Polled, error) {
				select {
				case m.writer <- struct{}{}:
					defer func() { <-m.writer }()
					return m.Poll(ctx, agent)
				default:
					return store.Polled{}, store.Busy(nil)
				}
			})},
		{"a poll reads what is not committed", "a poll waits for no writer", func(m *mutant) {
			m.twist = func(_ context.Context, t *tx, r *store.Roles) {
				r.DesiredStates = leakyDesired{r.DesiredStates, func() {
					s := *m.state.Load()
					s.desired = t.state.desired
					m.state.Store(&s)
				}}
			}
		}},
	}
	for field := range reflect.TypeFor[store.Polled]().Fields() {
		out = append(out, broken{"a poll forgets " + field.Name, "a poll finds what an agent's deployment is at", poll(
			func(ctx context.Context, m *Memory, agent string) (store.Polled, error) {
				at, err := m.Poll(ctx, agent)
				reflect.ValueOf(&at).Elem().FieldByIndex(field.Index).SetZero()
				return at, err
			})})
	}
	return out
}

type leakyDesired struct {
	store.DesiredStates
	leak func()
}

func (d leakyDesired) Save(ctx context.Context, v *delivery.Desired) error {
	err := d.DesiredStates.Save(ctx, v)
	d.leak()
	return err
}
