package connect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"berth/adapters/connect"
	"berth/adapters/contract"
	"berth/application/relay"
	"berth/domain/fault"
)

// bubble runs a test by a clock of its own.
func bubble(t *testing.T, l connect.Limits, test func(t *testing.T, s *site)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newBubble(t, l)) })
}

// Each reason has its own close code; the goaway says when and where to come back. The session is left.
func TestGoaway(t *testing.T) {
	codes := map[relay.Reason]int{
		relay.Moved: 1012, relay.Revoked: 4403, relay.Draining: 1012, relay.Shutdown: 1001, relay.Expired: 4401,
		relay.Suspended: 4423, relay.Unavailable: 1013, relay.Overload: 1013, "another": 1011,
	}
	bubble(t, limits(), func(t *testing.T, s *site) {
		other := s.connect("acme.other")
		n := int64(0)
		for reason, code := range codes {
			p := s.connect("acme.alice")
			s.end("alice", relay.End{
				Reason: reason, Retry: 1234 * time.Millisecond, Err: fault.New(fault.Unavailable, "snapshot_stale", "no"),
			})
			f := p.expect(contract.Frame{Op: contract.OpGoaway, Reason: string(reason), Slug: "snapshot_stale"})
			if f.RetryAfterMS != 1234 || f.URL != "wss://region.example/connect/v1" {
				t.Errorf("got %+v", f)
			}
			p.closes(code, string(reason))
			_ = p.Close()
			n++
			other.works("other-main", fmt.Sprint(n), n)
		}
		synctest.Wait()
		if s.left != len(codes) {
			t.Errorf("%d sessions were left", s.left)
		}
	})
}

// After a goaway nothing that the device sends counts, and nothing is brought to it any more.
func TestNothingCountsAfterTheEnd(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		p := s.connect("acme.alice")
		p.say(`{"op":"subscribe","handle":"alice-main","after":0}`)
		p.expect(contract.Frame{Op: contract.OpSubscribed, Route: "main"})
		s.end("alice", relay.End{Reason: relay.Revoked})
		synctest.Wait()
		bob := s.connect("acme.bob")
		bob.works("bob-main", "m1", 1)
		p.say(`{"op":"publish","handle":"alice-main","id":"late","body":1}`)
		p.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayRevoked})
		p.closes(contract.CloseRevoked, contract.GoawayRevoked)
		if n := s.stored("acme", "main"); n != 1 {
			t.Errorf("%d messages are stored", n)
		}
	})
}

// A device that does not close after its goaway is cut soon.
func TestWhoLingersIsCut(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		p := s.connect("acme.alice")
		s.end("alice", relay.End{Reason: relay.Moved})
		p.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayMoved})
		begun := time.Now()
		eventually(t, "the session is left", func() bool { return s.open() == 0 })
		if took := time.Since(begun); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// The node's own words reach a session that ended while its connection was being upgraded.
func TestEndsBeforeTheUpgrade(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		s.mu.Lock()
		s.entered = func(l relay.Line) { l.Wake(); l.End(relay.End{Reason: relay.Suspended}) }
		s.mu.Unlock()
		p := s.connect("acme.alice")
		p.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawaySuspended})
		p.closes(contract.CloseSuspended, contract.GoawaySuspended)
	})
}

// A silent device is pinged, and stays for as long as it answers; one that does not is cut, once it was silent for so long.
func TestSilence(t *testing.T) {
	l := limits()
	bubble(t, l, func(t *testing.T, s *site) {
		alive, dead := s.connect("acme.alive"), s.connect("acme.dead")
		begun := time.Now()
		_ = dead.SetReadDeadline(time.Time{})
		go io.Copy(io.Discard, dead)
		for range 10 {
			_ = alive.SetReadDeadline(time.Now().Add(2 * l.PingAfter))
			var ping [2]byte
			if _, err := io.ReadFull(alive.in, ping[:]); err != nil || ping != [2]byte{whole | opPing, 0} {
				t.Fatalf("got %x %v", ping, err)
			}
			alive.raw(masked(whole|opPong, nil))
		}
		if took := time.Since(begun); took < 10*l.PingAfter || took > 11*l.PingAfter {
			t.Errorf("ten pings took %v", took)
		}
		alive.works("alive-main", "m1", 1)
		if c := s.handler.Counts(); c.Silent != 1 || c.Connections != 1 || s.open() != 1 {
			t.Errorf("counted %+v, %d sessions", c, s.open())
		}
	})
}

// The dead one goes at its time, not before.
func TestSilenceIsTimed(t *testing.T) {
	l := limits()
	bubble(t, l, func(t *testing.T, s *site) {
		p := s.connect("acme.dead")
		begun := time.Now()
		_ = p.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, p)
		if took := time.Since(begun); took < l.IdleTimeout || took > l.IdleTimeout+3*time.Second {
			t.Errorf("it was cut after %v", took)
		}
	})
}

// Half a frame is no sign of life, be it sent ever so slowly.
func TestHalfAFrameIsSilence(t *testing.T) {
	l := limits()
	bubble(t, l, func(t *testing.T, s *site) {
		p := s.connect("acme.dead")
		begun := time.Now()
		_ = p.SetReadDeadline(time.Time{})
		go io.Copy(io.Discard, p)
		for _, c := range masked(whole|opText, make([]byte, 1<<16))[:9] { // not even its header
			if _, err := p.Write([]byte{c}); err != nil {
				break
			}
			time.Sleep(l.IdleTimeout / 4) //nolint:forbidigo // a bubble's
		}
		eventually(t, "it is cut", func() bool { return s.open() == 0 })
		if took := time.Since(begun); took > 2*l.IdleTimeout {
			t.Errorf("it was cut after %v", took)
		}
	})
}

// A device that takes nothing is cut after its time; others go on meanwhile.
func TestStalledReaders(t *testing.T) {
	l := limits()
	bubble(t, l, func(t *testing.T, s *site) {
		stalled, other := s.connect("acme.stalled"), s.connect("acme.other")
		stalled.say(`{"op":"subscribe","handle":"stalled-main","after":0}`)
		begun := time.Now()
		for i := range int64(20) {
			other.works("other-main", fmt.Sprint(i), i+1)
		}
		if time.Since(begun) > 0 {
			t.Error("the other one waited")
		}
		eventually(t, "it is cut", func() bool { return s.open() == 1 })
		if took := time.Since(begun); took < l.WriteTimeout || took > l.WriteTimeout+time.Second {
			t.Errorf("it was cut after %v", took)
		}
		if c := s.handler.Counts(); c.Stalled != 1 {
			t.Errorf("counted %+v", c)
		}
		other.works("other-main", "x", 21)
	})
}

// A revoked device is cut at once, also where it takes nothing.
func TestRevokedWhileStalled(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		p := s.connect("acme.phone")
		p.say(`{"op":"subscribe","handle":"phone-main","after":0}`)
		synctest.Wait() // its answer is being written
		begun := time.Now()
		s.end("phone", relay.End{Reason: relay.Revoked})
		eventually(t, "it is cut", func() bool { return s.open() == 0 })
		if took := time.Since(begun); took > 600*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

// Where a session can not say what comes next, the device is sent away instead of being left in the dark.
func TestTakeFails(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		s.failing = fault.New(fault.Unavailable, "engine_unavailable", "the disk is gone")
		p := s.connect("acme.alice")
		p.say(`{"op":"subscribe","handle":"alice-main","after":0}`)
		p.expect(contract.Frame{Op: contract.OpSubscribed, Route: "main"})
		p.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayUnavailable, Slug: "engine_unavailable"})
		p.closes(contract.CloseTryAgain, contract.GoawayUnavailable)
	})
}

// A stop lets publishes that are under way be acknowledged, reads nothing more, and sends everybody away, each at a time
// of its own; who comes then is told so.
func TestStop(t *testing.T) {
	l := limits()
	bubble(t, l, func(t *testing.T, s *site) {
		busy := s.connect("acme.busy")
		var idle []*phone
		for i := range 50 {
			idle = append(idle, s.connect(fmt.Sprint("acme.p", i)))
		}
		late := s.dial()
		s.mu.Lock()
		s.hold = make(chan struct{})
		s.mu.Unlock()
		busy.say(`{"op":"publish","handle":"busy-main","id":"m1","body":1}`)
		synctest.Wait()
		stopped := make(chan struct{})
		go func() { s.handler.Stop(t.Context()); close(stopped) }()
		synctest.Wait()
		busy.say(`{"op":"publish","handle":"busy-main","id":"m2","body":1}`)
		fmt.Fprint(late, upgradeRequest(offer, alice))
		answer := make([]byte, 4096)
		n, _ := late.Read(answer)
		if !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 503") || !strings.Contains(string(answer[:n]), "node_stopping") {
			t.Errorf("who comes late is told %s", answer[:n])
		}
		retries := map[int64]bool{}
		for _, p := range idle {
			f := p.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayShutdown})
			if f.RetryAfterMS < 0 || f.RetryAfterMS > l.ReconnectWithin.Milliseconds() {
				t.Errorf("got %+v", f)
			}
			retries[f.RetryAfterMS/1000] = true
			p.closes(contract.CloseGoingAway, contract.GoawayShutdown)
			_ = p.Close()
		}
		if len(retries) < 5 {
			t.Errorf("all come back in the seconds %v", retries)
		}
		begun := time.Now()
		close(s.hold)
		busy.expect(contract.Frame{Op: contract.OpAck, ID: "m1", Seq: 1})
		busy.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayShutdown})
		if took := time.Since(begun); took > 0 {
			t.Errorf("the goaway came %v after the last answer", took)
		}
		busy.closes(contract.CloseGoingAway, contract.GoawayShutdown)
		_ = busy.Close()
		<-stopped
		if n := s.stored("acme", "main"); n != 1 {
			t.Errorf("%d messages are stored", n)
		}
	})
}

// A publish that does not come to an end holds a stop up for its time, not for ever.
func TestStopDoesNotWaitForEver(t *testing.T) {
	l := limits()
	bubble(t, l, func(t *testing.T, s *site) {
		p := s.connect("acme.alice")
		hold := make(chan struct{})
		defer close(hold)
		s.mu.Lock()
		s.hold = hold
		s.mu.Unlock()
		p.say(`{"op":"publish","handle":"alice-main","id":"m1","body":1}`)
		synctest.Wait()
		begun := time.Now()
		go s.handler.Stop(t.Context())
		p.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayShutdown})
		if took := time.Since(begun); took < l.SettleTimeout || took > l.SettleTimeout+2*time.Second {
			t.Errorf("it took %v", took)
		}
		p.closes(contract.CloseGoingAway, contract.GoawayShutdown)
	})
}

// What is still there when a stop's time is over is cut.
func TestStopCutsWhatIsLeft(t *testing.T) {
	l := limits()
	l.SettleTimeout, l.WriteTimeout = time.Hour, time.Hour
	bubble(t, l, func(t *testing.T, s *site) {
		p := s.connect("acme.alice")
		hold := make(chan struct{})
		defer close(hold)
		s.mu.Lock()
		s.hold = hold
		s.mu.Unlock()
		p.say(`{"op":"publish","handle":"alice-main","id":"m1","body":1}`)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		s.handler.Stop(ctx)
		if took := time.Since(begun); took != time.Second {
			t.Errorf("it took %v", took)
		}
		if _, _, err := p.frame(); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v", err)
		}
		if r := record(t, s.handler, request(http.MethodGet, "/connect/v1")); r.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("answered %s", r.Status)
		}
	})
}

// The diagram has one step for each event of a phase, every phase is reached, and closed is left by none.
func TestDiagram(t *testing.T) {
	t.Parallel()
	seen := map[[2]string]bool{}
	reached := map[string]bool{"opening": true}
	for _, e := range connect.Diagram() {
		if seen[[2]string{e.From, e.Event}] || !reached[e.From] || e.From == "closed" {
			t.Errorf("%v is there twice, or from nowhere", e)
		}
		seen[[2]string{e.From, e.Event}], reached[e.To] = true, true
		if !seen[[2]string{e.From, "lost"}] && e.Event == "lost" {
			t.Errorf("%v", e)
		}
	}
	for _, phase := range []string{"opening", "open", "settling", "leaving"} {
		if !seen[[2]string{phase, "lost"}] {
			t.Errorf("%s can not be lost", phase)
		}
	}
	if len(reached) != 5 {
		t.Errorf("reached are %v", reached)
	}
}
