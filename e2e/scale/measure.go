package scale

import (
	"fmt"
	"sync/atomic"
	"time"

	"berth/e2e/load"
)

// rounds are how often the sizes take turns: what else the machine is busy with meets both.
const rounds = 3

// measured is what one operation took at one size.
type measured struct {
	load.Result
	callers    []load.Caller
	statements string // what Postgres was busy with, the costliest first
}

// tell keeps something to say beside the table.
func (s *site) tell(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

// rest measures what is done while nobody asks for anything: sweeps of leases above all. It is part of no operation.
func (s *site) rest(lasting time.Duration) {
	s.idle = s.Measure(load.Limit{For: lasting}, func() (time.Duration, error) {
		const slice = 100 * time.Millisecond
		<-time.NewTimer(slice).C
		return slice, nil
	})
	s.tell("idle: %.2f cores of berthd and %.2f of Postgres for %d nodes, which is in no operation's cost",
		s.idle.Server.Seconds()/s.idle.Elapsed.Seconds(), s.idle.Database.Seconds()/s.idle.Elapsed.Seconds(), s.plan.Nodes)
}

// begin prepares an operation.
func (s *site) begin(o operation) { s.by[o.name] = &measured{callers: o.callers(s)} }

// take measures an operation for one more while.
func (s *site) take(o operation, lasting time.Duration) {
	m := s.by[o.name]
	s.Database.SQL("SELECT pg_stat_statements_reset()")
	limit := load.Limit{For: lasting}
	if o.once {
		limit.Ops = int64(s.plan.Tenants) / 2 / rounds
	}
	m.Result = m.Plus(s.Measure(limit, m.callers...))
	m.statements = s.Database.SQL(busiest)
}

// busiest are the statements that took most, with their calls and milliseconds.
const busiest = `SELECT calls, round(total_exec_time::numeric, 1), left(regexp_replace(regexp_replace(query, '\s+', ' ', 'g'),
	'^SELECT .* FROM', 'SELECT ... FROM'), 200)
	FROM pg_stat_statements WHERE query !~ 'pg_stat' ORDER BY total_exec_time DESC LIMIT 4`

// cost is what one operation took of server and database together, in microseconds of CPU, without what is done anyway.
func (s *site) cost(name string) float64 {
	m := s.by[name]
	idle := float64((s.idle.Server + s.idle.Database).Microseconds()) / s.idle.Elapsed.Seconds()
	return m.ServerEach() + m.DatabaseEach() - m.Each(idle*m.Elapsed.Seconds())
}

// freshness is every node's poll every five seconds, as relay nodes send them: not as many as can be, but as many as
// there are.
func (s *site) freshness(lasting time.Duration) {
	const every, callers = 5 * time.Second, 16
	gap := every / time.Duration(s.plan.Holders())
	began := time.Now()
	var turn atomic.Int64
	out := make([]load.Caller, callers)
	for i := range out {
		c := s.Internal(0)
		out[i] = func() (time.Duration, error) {
			n := turn.Add(1) - 1
			<-time.NewTimer(time.Until(began.Add(time.Duration(n) * gap))).C
			return s.poll(c, int(n)%s.plan.Holders())
		}
	}
	s.tell("%s", cores(s.Measure(load.Limit{For: lasting}, out...)))
}
