package relay_test

import (
	"fmt"
	"time"
)

// operate is what an operator does.
func (w *world) operate() {
	tenant := w.tenants[w.intn(len(w.tenants))]
	at := w.control.Place(tenant)
	target := fmt.Sprintf("n%d", w.intn(3))
	switch {
	case w.chance(60):
		if id, err := w.control.Migrate(tenant, target); err == nil {
			w.note("%s: %s goes to %s", id, tenant, target)
		}
	case w.chance(15) && at.Migration != "":
		if w.control.Abort(at.Migration) == nil {
			w.note("%s is aborted", at.Migration)
		}
	case w.chance(15):
		w.control.Suspend(tenant)
		w.control.Resume(tenant)
	case w.control.Lease(at.Node).Lapsed && w.chance(300):
		if id, err := w.control.Recover(tenant, target); err == nil {
			w.count(func(t *tally) { t.recovers++ })
			w.lose(tenant, at.Generation)
			w.note("%s: %s is recovered from %s to %s", id, tenant, at.Node, target)
		}
	}
}

// lose has what was acknowledged up to a generation count as lost, by the operator's consent.
func (w *world) lose(tenant string, generation int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if l := w.ledgers[tenant]; l != nil {
		l.lost = max(l.lost, generation)
		w.tally.losses++
	}
}

// happen is what befalls a machine.
func (m *machine) happen() {
	w := m.w
	if m.running() == nil {
		if !m.gone && time.Now().After(m.down) {
			m.start()
		}
		return
	}
	select {
	case <-m.running().ended:
		m.set(nil)
		m.down = time.Now().Add(w.upTo(4 * time.Second))
		return
	default:
	}
	while := w.upTo([]time.Duration{3 * time.Second, 40 * time.Second}[w.intn(2)])
	switch r := w.intn(1000); {
	case m.copied && r < 30:
		m.kill()
		w.mu.Lock()
		m.gone = true
		w.mu.Unlock()
	case r < 8:
		m.kill()
		m.down = time.Now().Add(while / 4)
	case r < 14:
		w.note("%s stands still for %v", m.name, while)
		m.clock.stand(while, false)
	case r < 18:
		w.note("%s is frozen for %v", m.name, while)
		m.clock.stand(while, true)
	case r < 26:
		w.note("%s is cut off for %v", m.name, while)
		w.mu.Lock()
		m.cut = time.Now().Add(while)
		w.mu.Unlock()
	case r < 29:
		m.clock.jump(while - 15*time.Second)
		w.note("%s: the wall clock is set by %v", m.name, while-15*time.Second)
	case r < 31 && !m.copied && m.onlyOne():
		m.clone()
	case r < 60:
		m.helped()
	}
}

func (m *machine) onlyOne() bool {
	for _, other := range m.w.all {
		if other != m && other.id == m.id && !other.gone {
			return false
		}
	}
	return true
}

// clone starts another machine on a copy of this one's disk.
func (m *machine) clone() {
	w := m.w
	name := fmt.Sprintf("%s-copy%d", m.id, len(w.all))
	c := &machine{w: w, name: name, id: m.id, clock: newSimClock(1), disk: m.disk.Clone(), place: name, token: m.token, copied: true}
	w.note("%s is cloned as %s", m.name, name)
	w.count(func(t *tally) { t.clones++ })
	w.mu.Lock()
	w.all = append(w.all, c)
	w.mu.Unlock()
	c.start()
}

// helped gives a machine that lost its identity another join token.
func (m *machine) helped() {
	if lost := m.running().node.Status().Identity.Lost; lost != nil {
		token := m.w.control.JoinToken(m.id, time.Hour)
		m.w.mu.Lock()
		m.token = token
		m.w.mu.Unlock()
		m.w.note("%s gets another join token, since %v", m.name, lost)
	}
}
