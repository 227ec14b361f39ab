package connect

import (
	"berth/adapters/contract"
	"berth/application/relay"
)

// phase is where a connection is in its life.
type phase uint8

const (
	opening  phase = iota // the session is there, the upgrade is not
	open                  // frames go both ways
	settling              // nothing is read any more, answers are still written
	leaving               // the goaway and the close are being written; nothing that comes counts
	closed
)

// event is what moves a connection on.
type event uint8

const (
	upgraded  event = iota
	dismissed       // the node empties or stops: what the device was promised is answered first
	ended           // the session may not go on, or a frame was malformed
	answered        // no publish waits any more
	lost            // the device is gone, or does not read, or is silent
)

// An Edge is a line of the diagram: an event takes a connection from one phase to another.
type Edge struct{ From, Event, To string }

type step struct {
	from phase
	on   event
	to   phase
}

// steps is the diagram. What is not in it changes nothing.
var steps = [...]step{ //nolint:gochecknoglobals // an immutable table
	{opening, upgraded, open},
	{opening, lost, closed},
	{open, dismissed, settling},
	{open, ended, leaving},
	{open, lost, closed},
	{settling, answered, leaving},
	{settling, ended, leaving},
	{settling, lost, closed},
	{leaving, lost, closed},
}

var phaseNames = [...]string{"opening", "open", "settling", "leaving", "closed"}   //nolint:gochecknoglobals // an immutable table
var eventNames = [...]string{"upgraded", "dismissed", "ended", "answered", "lost"} //nolint:gochecknoglobals // an immutable table

// Diagram is the life of a connection, as docs/connect.md draws it.
func Diagram() []Edge {
	var out []Edge
	for _, s := range steps {
		out = append(out, Edge{phaseNames[s.from], eventNames[s.on], phaseNames[s.to]})
	}
	return out
}

// step moves on, and says whether the event moved anything. mu is held.
func (c *conn) step(on event) bool {
	for _, s := range steps {
		if s.from == c.phase && s.on == on {
			c.phase = s.to
			c.since = c.h.now()
			c.free.Broadcast()
			return true
		}
	}
	return false
}

// codes are how connections close after a goaway.
var codes = map[relay.Reason]int{ //nolint:gochecknoglobals // an immutable table
	relay.Moved:       contract.CloseRestart,
	relay.Revoked:     contract.CloseRevoked,
	relay.Draining:    contract.CloseRestart,
	relay.Shutdown:    contract.CloseGoingAway,
	relay.Expired:     contract.CloseExpired,
	relay.Suspended:   contract.CloseSuspended,
	relay.Unavailable: contract.CloseTryAgain,
	relay.Overload:    contract.CloseTryAgain,
}

// patient is true of the reasons for which publishes that wait are answered first: the session lives on meanwhile.
func patient(r relay.Reason) bool { return r == relay.Draining || r == relay.Shutdown }
