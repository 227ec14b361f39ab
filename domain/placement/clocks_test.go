package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// clocks is one node identity against real clocks, as the model's lease.go has it: a node clock that is slow, replicas
// that are fast, beats and answers that are late, lost or overtake, processes that follow one another, and a database that
// comes back from an older state.
type clocks struct {
	rules
	rand     *rand.Rand
	terms    LeaseTerms
	now      time.Duration // true time
	nodePPM  int64
	lease    *Lease
	older    LeaseRecord
	origin   int
	procs    []*clockProc
	flying   []message
	replicas []*simReplica
	lapses   int
	bad      string
}

type clockProc struct {
	generation, sequence int64
	granted              Granted
}

// When a replica's count lapses a lease, no process of that identity holds a live one (P9), though the node's clock may
// be slower than the replica's by all of the allowance.
func TestNoProcessHoldsALeaseThatWasCountedOut(t *testing.T) {
	t.Parallel()
	lapses := 0
	for seed := range budget(1000) {
		c := runClocks(uint64(seed), rules{})
		if c.bad != "" {
			t.Fatalf("seed %d: %s", seed, c.bad)
		}
		lapses += c.lapses
	}
	if lapses < 1000 {
		t.Fatalf("only %d leases lapsed", lapses)
	}
}

// The margin, the counting from the moment of sending, and the compare-and-set are each needed for that.
func TestCountingWrongLetsTwoHoldALease(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]rules{
		"no margin": {noMargin: true}, "from arrival": {fromArrival: true}, "no compare-and-set": {lapseUnseen: true},
		"origin ignored": {originUnseen: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range budget(400) {
				if runClocks(uint64(seed), r).bad != "" {
					return
				}
			}
			t.Fatal("not found")
		})
	}
}

func runClocks(seed uint64, r rules) *clocks {
	c := &clocks{rules: r, rand: rand.New(rand.NewPCG(seed, 3)), terms: DefaultLeaseTerms(), lease: NewLease("a")}
	c.nodePPM = []int64{951_000, 1_000_000}[c.rand.IntN(2)]
	counted := c.terms
	if r.noMargin {
		counted.Margin, counted.DriftPercent = 0, 0
	}
	for range 2 {
		c.replicas = append(c.replicas, &simReplica{[]int64{1_000_000, 1_046_000}[c.rand.IntN(2)], NewWatch(counted)})
	}
	c.start()
	for range 400 {
		c.step()
	}
	return c
}

// step lets a little time pass, or now and then about as much as a count takes, and then one thing happen.
func (c *clocks) step() {
	c.now += time.Duration(c.rand.Int64N(int64(500 * time.Millisecond)))
	if c.rand.IntN(40) == 0 {
		c.now += 14*time.Second + time.Duration(c.rand.Int64N(int64(6*time.Second)))
	}
	switch r := c.rand.IntN(100); {
	case r < 20:
		c.beat(c.procs[c.rand.IntN(len(c.procs))])
	case r < 22:
		c.start()
	case r < 60:
		if i, ok := c.next(); ok {
			do := c.flying[i].do
			c.forget(i)
			do()
		}
	case r < 66:
		if i, ok := c.next(); ok {
			c.forget(i) // lost
		}
	case r < 67:
		c.restore()
	default:
		c.count(c.replicas[c.rand.IntN(2)])
	}
}

// next picks any message on its way.
func (c *clocks) next() (int, bool) {
	if len(c.flying) == 0 {
		return 0, false
	}
	return c.rand.IntN(len(c.flying)), true
}

func (c *clocks) forget(i int) { c.flying = append(c.flying[:i:i], c.flying[i+1:]...) }

func (c *clocks) at(ppm int64) time.Duration {
	return time.Duration(int64(c.now/time.Microsecond)*ppm/1_000_000) * time.Microsecond
}

func (c *clocks) start() {
	g, err := c.lease.Register(registration(fmt.Sprint("boot-", c.rand.Uint64())), at(1))
	if err != nil {
		c.bad = err.Error()
	}
	c.procs = append(c.procs, &clockProc{generation: g})
}

func (c *clocks) beat(p *clockProc) {
	p.sequence++
	b, sent := beat(p.generation, p.sequence), c.at(c.nodePPM)
	c.flying = append(c.flying, message{do: func() {
		before := c.lease.Record()
		if c.lease.Beat(b, at(2)) != nil {
			return
		}
		c.older = before
		c.flying = append(c.flying, message{do: func() {
			g := Granted{SentAt: sent, For: c.terms.Duration}
			if c.fromArrival {
				g.SentAt = c.at(c.nodePPM)
			}
			if g.SentAt >= p.granted.SentAt {
				p.granted = g
			}
		}})
	}})
}

// count is a replica's look at the row, and its transaction where the count is over, now or later.
func (c *clocks) count(r *simReplica) {
	mark, now := c.lease.Mark(), c.at(r.ppm)
	if !c.originUnseen {
		r.watch.In(fmt.Sprint(c.origin))
	}
	r.watch.Observe("a", mark, now)
	if !c.lease.Live() || !r.watch.RanOut("a", mark, now) {
		return
	}
	lapse := func() {
		if c.lapseUnseen {
			mark = c.lease.Mark()
		}
		if !c.lease.Live() || c.lease.Lapse(mark) != nil {
			return
		}
		c.lapses++
		for _, p := range c.procs {
			if p.granted.For > 0 && c.at(c.nodePPM)-p.granted.SentAt < p.granted.For {
				c.bad = fmt.Sprintf("a lease was counted out that %+v still holds at %s", p.granted, c.at(c.nodePPM))
			}
		}
	}
	if c.rand.IntN(2) == 0 {
		lapse()
		return
	}
	c.flying = append(c.flying, message{do: lapse})
}

// restore brings the row back as it was before the last beat, as a copy has it that lags behind; what was on its way is
// gone, and the replicas go on.
func (c *clocks) restore() {
	if c.older.Node == "" || c.older.Lapsed {
		return
	}
	c.lease, c.flying = RestoreLease(c.older), nil
	c.origin++
}
