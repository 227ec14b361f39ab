package delivery_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/e2e/harness"
)

// Killed in the middle of changes, again and again: the history has no gap and nothing twice, each revision names the one
// before it, and every intent that was answered for is there. One whose answer was lost is made once, by its key.
func TestKilledWhilePublishing(t *testing.T) {
	t.Parallel()
	alone(t, "killed", killedWhilePublishing)
}

const kills = 5

func killedWhilePublishing(w *world) {
	live := w.app("live")
	w.Publish(harness.Product{App: live, Version: "1.0.0"})
	apps := []string{live}
	for i := range 4 * kills {
		app := w.app("k" + strconv.Itoa(i))
		w.Publish(harness.Product{App: app, Version: "1.0.0"})
		apps = append(apps, app)
	}
	c := w.NewCustomer(w.name)
	c.Entitle(apps...)
	c.Deploys(services(live)...)
	a := c.Enrols()
	p := &publishing{world: w, c: c, live: live, rest: apps[1:]}
	for round := range kills {
		p.round(round)
		p.whole()
		a.Until("it has what is there", func() bool { return a.Held.Revision == p.revision })
	}
	if len(p.granted) == 0 {
		w.t.Error("no intent was granted")
	}
}

type publishing struct {
	*world
	c        *harness.Customer
	live     string
	rest     []string          // apps to ask for
	granted  []contract.Intent // that were answered for
	lost     string            // app whose answer was lost
	revision int64             // of the head
}

// round changes things at each replica at once, and kills the first one when some of it is done.
func (p *publishing) round(round int) {
	p.t.Helper()
	victim := p.Servers[round%len(p.Servers)]
	operator := apiclient.NewOperator(p.Client(round, apiclient.Bearer(victim.Token)))
	market := p.c.Market(round)
	var done atomic.Int32
	enough := make(chan struct{})
	count := func() {
		if done.Add(1) == int32(3+round) {
			close(enough)
		}
	}
	var all sync.WaitGroup
	all.Go(func() { p.setsParameters(operator, round, count) })
	all.Go(func() { p.submits(market, count) })
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	select {
	case <-enough:
	case <-over: // both failed, and said why
	}
	victim.Kill()
	<-over
	victim.Run()
}

func away(err error) bool { return fault.SlugOf(err) == "server_unreachable" }

func (p *publishing) setsParameters(o apiclient.Operator, round int, count func()) {
	for i := 0; ; i++ {
		in := contract.NewParameters{Parameters: map[string]any{"greeting": strconv.Itoa(round) + "." + strconv.Itoa(i)}}
		_, err := o.SetParameters(p.t.Context(), p.c.Install, p.live, in)
		switch {
		case away(err):
			return
		case err == nil:
			count()
		case fault.SlugOf(err) != "desired_state_contended":
			p.t.Errorf("setting parameters: %v", err)
			return
		}
	}
}

// submits asks for one app after the other; what had no answer is asked for again in the next round, by the same key.
func (p *publishing) submits(m apiclient.Market, count func()) {
	for len(p.rest) > 0 {
		app := p.rest[0]
		v, err := m.Submit(apiclient.Keyed(p.t.Context(), "install-"+app), app, install(""))
		switch {
		case away(err):
			p.lost = app
			return
		case err == nil:
			p.granted, p.rest = append(p.granted, v), p.rest[1:]
			count()
		case fault.SlugOf(err) == "desired_state_contended":
		case app == p.lost && fault.SlugOf(err) == "idempotency_outcome_unknown":
			p.rest = p.rest[1:]
		default:
			p.t.Errorf("%s: %v", app, err)
			return
		}
	}
}

// whole reads the history from its end to its beginning.
func (p *publishing) whole() {
	p.t.Helper()
	o := p.Operator()
	head, err := o.Deployment(p.t.Context(), p.c.Install)
	must(p.t, err)
	p.revision = head.Revision
	next, previous := head.Revision, ""
	for before := int64(0); next > 0; {
		page, err := o.DesiredHistory(p.t.Context(), p.c.Install, before, 100)
		must(p.t, err)
		for _, r := range page.Revisions {
			if r.Revision != next || previous != "" && r.Digest != previous {
				p.t.Fatalf("revision %d %s stands where %d %s is to be", r.Revision, r.Digest, next, previous)
			}
			state, err := o.DesiredState(p.t.Context(), p.c.Install, r.Revision)
			must(p.t, err)
			payload, err := delivery.PayloadOfToken(state.Token)
			must(p.t, err)
			previous, next = payload.Previous, next-1
		}
		before = page.Next
		if before == 0 {
			break
		}
	}
	if next != 0 || previous != "" {
		p.t.Errorf("the history ends above revision %d, and the first one follows %q", next, previous)
	}
	p.kept(head)
}

// kept: what was granted is there, once, and in the desired state.
func (p *publishing) kept(head contract.Deployment) {
	p.t.Helper()
	there := map[string]bool{}
	for _, app := range head.Apps {
		if there[app.App] {
			p.t.Errorf("%s is there twice", app.App)
		}
		there[app.App] = true
	}
	for _, v := range p.granted {
		got, err := p.c.Market(0).Intent(p.t.Context(), v.ID, 0)
		if err != nil || got.ID != v.ID || got.Revision != v.Revision || !there[v.App] {
			p.t.Errorf("intent %+v is %+v (%v), and in the desired state: %t", v, got, err, there[v.App])
		}
	}
}
