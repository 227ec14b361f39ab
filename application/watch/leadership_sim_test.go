package watch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"berth/application/watch"
	"berth/ports/store/storetest"
)

// player is a replica that the test runs step by step, with one run of a duty of the leader at a time.
type player struct {
	*replica
	speed   int64 // of its clock, in percent
	due     []time.Duration
	dead    bool
	running context.Context // nil for none
	release context.CancelFunc
	cut     int // runs that ended with the leadership
}

// step lets the replica do what is due, and then lets it begin or end a run.
func (p *player) step(t *testing.T, rnd *rand.Rand) {
	t.Helper()
	for i, d := range p.Duties() {
		if now := p.clock.Elapsed(); now >= p.due[i] {
			_ = d.Run(t.Context())
			p.due[i] = now + d.Every - time.Duration(rnd.Int64N(int64(d.Every)/5))
			if d.Name == "leadership-end" {
				p.stopped(t)
			}
		}
	}
	switch {
	case p.running == nil:
		if ctx, release, ok := p.Lead(t.Context()); ok {
			p.running, p.release = ctx, release
		}
	case rnd.IntN(40) == 0:
		p.release()
		p.running = nil
	}
}

// stopped waits for the end of a run that the leadership has ended.
func (p *player) stopped(t *testing.T) {
	t.Helper()
	if p.running == nil || p.Leads() {
		return
	}
	select {
	case <-p.running.Done():
	case <-time.After(10 * time.Second):
		t.Fatalf("a run of %s goes on after its leadership ended", p.name)
	}
	p.release()
	p.running = nil
	p.cut++
}

// Two replicas never both run what only the leader runs, while clocks are within 10 % of the true speed: whatever the
// database refuses to either, whichever answer is lost, and where it fails over to a copy that lags behind.
func TestTwoReplicasNeverBothRunALeadersDuty(t *testing.T) {
	t.Parallel()
	cut := 0
	for seed := range uint64(60) {
		c, rnd := newCluster(t), rand.New(rand.NewPCG(seed, 1))
		var players []*player
		for _, name := range []string{"a", "b", "c"} {
			players = append(players, &player{
				replica: c.add(name), speed: 90 + 10*rnd.Int64N(3), due: make([]time.Duration, len(watch.Leader.Duties(c.replicas[0]))),
			})
		}
		behind, histories := c.mem.Copy(), 0
		for range 3000 {
			for _, p := range players {
				if !p.dead {
					p.clock.Advance(tick * time.Duration(p.speed) / 100)
					p.step(t, rnd)
				}
			}
			running := 0
			for _, p := range players {
				if !p.dead && p.running != nil && p.running.Err() == nil {
					running++
				}
			}
			if running > 1 {
				t.Fatalf("seed %d: %d replicas run what one is enough for", seed, running)
			}
			switch p := players[rnd.IntN(len(players))]; rnd.IntN(120) {
			case 0:
				p.fails(storetest.Unavailable, nil)
			case 1:
				p.fails(nil, storetest.CommitUnknown)
			case 2, 3, 4, 5:
				p.fails(nil, nil)
			case 6:
				behind = c.mem.Copy()
			case 7:
				histories++
				c.mem.FailOver(behind, fmt.Sprint("promoted-", histories))
			case 8:
				p.dead = p.name == "a"
			}
		}
		for _, p := range players {
			cut += p.cut
		}
	}
	if cut < 200 {
		t.Errorf("only %d runs were cut short", cut)
	}
}
