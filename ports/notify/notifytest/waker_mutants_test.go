package notifytest

import (
	"context"
	"testing"
	"time"

	"berth/ports/internal/law"
	"berth/ports/notify"
)

// The fake keeps the laws of its port, so what is tested with it is not tested with a mutant.
func TestFakePasses(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Subject {
		f := NewFake()
		f.Admit(Room)
		return Subject{Publisher: f, Subscriber: f}
	})
	RunWaker(t, func(testing.TB) WakerSubject {
		f := NewFake()
		return WakerSubject{Waker: f, Subscriber: f}
	})
}

func TestWakerModelPasses(t *testing.T) {
	t.Parallel()
	RunWaker(t, func(testing.TB) WakerSubject { return wakerSubject(&wakerModel{}) })
}

func TestWakerMutantsAreCaught(t *testing.T) {
	t.Parallel()
	mutants := map[string]struct {
		law  string
		make func() *wakerModel
	}{
		"wakes nobody":                {"everybody is woken once", func() *wakerModel { return &wakerModel{skip: 1} }},
		"wakes twice":                 {"everybody is woken once", func() *wakerModel { return &wakerModel{twice: true} }},
		"forgets the last part":       {"everybody is woken, at once or in parts", func() *wakerModel { return &wakerModel{forgetsRest: true} }},
		"wakes who named no topic":    {"who named no topic or is gone stays quiet", func() *wakerModel { return &wakerModel{topicless: true} }},
		"wakes who closed":            {"who named no topic or is gone stays quiet", func() *wakerModel { return &wakerModel{model: model{deaf: true}} }},
		"waits for the receiver":      {"waking waits for no subscriber", func() *wakerModel { return &wakerModel{model: model{blocks: true}} }},
		"goes on when nobody asks it": {"an ended context ends it", func() *wakerModel { return &wakerModel{deafToContext: true} }},
	}
	for name, m := range mutants {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, wakerLaws(), m.law, func(testing.TB) WakerSubject {
				s := wakerSubject(m.make())
				s.patience = 200 * time.Millisecond
				return s
			})
		})
	}
}

func wakerSubject(m *wakerModel) WakerSubject {
	m.room = Crowd
	return WakerSubject{Waker: m, Subscriber: m}
}

// wakerModel is the plainest waker there can be, with a switch for each fault.
type wakerModel struct {
	model

	skip                                         int
	twice, forgetsRest, topicless, deafToContext bool
}

const modelParts = 7

func (m *wakerModel) WakeAll(ctx context.Context, over time.Duration) {
	m.mu.Lock()
	all := m.subs[min(m.skip, len(m.subs)):]
	if m.twice {
		for _, s := range all {
			s.c = make(chan struct{}, 2)
		}
		all = append(all, all...)
	}
	m.mu.Unlock()
	part := max(1, len(all)/modelParts)
	if m.forgetsRest {
		all = all[:len(all)/part*part]
	}
	for i := 0; i < len(all); i += part {
		m.wake(ctx, all[i:min(i+part, len(all))])
		if !m.pause(ctx, over/modelParts) {
			return
		}
	}
}

func (m *wakerModel) wake(ctx context.Context, some []*modelSubscription) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range some {
		if !s.closed && (m.topicless || len(s.topics) > 0) {
			s.wake(ctx)
		}
	}
}

func (m *wakerModel) pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	if m.deafToContext {
		ctx = context.WithoutCancel(ctx)
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(d, time.Minute)):
		return true
	}
}

var _ notify.Waker = (*wakerModel)(nil)
