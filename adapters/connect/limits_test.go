package connect_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"berth/adapters/contract"
	"berth/ports/engine"
)

func request(method, path string) *http.Request { return httptest.NewRequest(method, path, nil) }

// So many publishes of a connection are under way at a time. Then it is read no further; once they are answered it goes on,
// and none is lost or out of order.
func TestPublishesInFlightAreBounded(t *testing.T) {
	l := limits()
	l.PublishBusy = 4
	bubble(t, l, func(t *testing.T, s *site) {
		p, other := s.connect("acme.alice"), s.connect("acme.other")
		hold := make(chan struct{})
		s.mu.Lock()
		s.hold = hold
		s.mu.Unlock()
		const all = 20
		go func() {
			for i := range all {
				_, _ = p.Write(masked(whole|opText, fmt.Appendf(nil, `{"op":"publish","handle":"alice-main","id":"%d","body":1}`, i)))
			}
		}()
		synctest.Wait()
		if got := s.publishing(); got != l.PublishBusy {
			t.Errorf("%d are under way", got)
		}
		time.Sleep(2 * l.IdleTimeout) //nolint:forbidigo // a bubble's: it is not silent, it is not read
		s.mu.Lock()
		s.hold = nil
		s.mu.Unlock()
		close(hold)
		got := map[string]bool{}
		for range all {
			f := p.hear()
			got[f.ID] = f.Op == contract.OpAck
		}
		if len(got) != all || s.stored("acme", "main") != all {
			t.Errorf("acknowledged are %v", got)
		}
		_ = other
	})
}

// A device that does not take its answers is read no further either.
func TestAnswersInLineAreBounded(t *testing.T) {
	l := limits()
	l.WriteTimeout = time.Hour
	bubble(t, l, func(t *testing.T, s *site) {
		p := s.connect("acme.alice")
		sent := make(chan int, 1)
		go func() {
			n := 0
			defer func() { sent <- n }()
			for range 10_000 {
				_ = p.SetWriteDeadline(time.Now().Add(time.Minute))
				if _, err := p.Write(masked(whole|opText, []byte(`{"op":"unsubscribe","handle":"nobody-main"}`))); err != nil {
					return
				}
				n++
			}
		}()
		if n := <-sent; n > 1000 {
			t.Errorf("%d frames were read", n)
		}
	})
}

// A device that sends faster than it may is read more slowly; nothing of what it sends is lost.
func TestFrameRate(t *testing.T) {
	l := limits()
	l.FrameRate, l.FrameBurst = 10, 20
	bubble(t, l, func(t *testing.T, s *site) {
		p := s.connect("acme.alice")
		begun := time.Now()
		for i := range int64(70) {
			p.works("alice-main", fmt.Sprint(i), i+1)
		}
		if took := time.Since(begun); took < 4500*time.Millisecond || took > 5500*time.Millisecond {
			t.Errorf("50 frames above the burst took %v", took)
		}
	})
}

// A device has so many connections. One more is refused while all of them live; the place of one that was silent is taken.
func TestConnectionsOfADevice(t *testing.T) {
	l := limits()
	l.ConnectionsPerPrincipal = 2
	bubble(t, l, func(t *testing.T, s *site) {
		old, live := s.connect("acme.alice"), s.connect("acme.alice")
		_, r := s.attempt(upgradeRequest(offer, alice))
		refused(t, r, http.StatusTooManyRequests, "too_many_connections")
		s.connect("other.alice")     // another tenant's
		time.Sleep(10 * time.Second) //nolint:forbidigo // a bubble's
		live.works("alice-main", "m1", 1)
		fresh := s.connect("acme.alice")
		if n := s.open(); n != 3 {
			t.Errorf("the node counts %d sessions while one is still being sent away", n)
		}
		old.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayOverload, Slug: "too_many_connections"})
		old.closes(contract.CloseTryAgain, contract.GoawayOverload)
		live.works("alice-main", "m2", 2)
		fresh.works("alice-main", "m3", 3)
	})
}

// Connections in total and of one address are bounded before their handshake; what ends makes room.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	for _, total := range []bool{true, false} {
		l := limits()
		if total {
			l.Connections = 2
		} else {
			l.ConnectionsPerAddress = 2
		}
		s := newSite(t, l)
		first, second := s.connect("acme.a"), s.connect("acme.b")
		third := s.network()
		_ = third.SetReadDeadline(time.Now().Add(patience))
		if n, err := third.Read(make([]byte, 1)); n != 0 || err == nil {
			t.Errorf("one too many is served")
		}
		if c := s.server.Counts(); c.Crowded != 1 || c.Connections != 2 {
			t.Errorf("counted %+v", c)
		}
		_ = first.Close()
		eventually(t, "there is room", func() bool { return s.server.Counts().Connections == 1 })
		s.connect("acme.c").works("c-main", "m1", 1)
		second.works("b-main", "m1", 2)
	}
}

// Handshakes that are held up make way for the newest.
func TestHandshakesAreBounded(t *testing.T) {
	t.Parallel()
	l := limits()
	l.Handshakes, l.HeaderTimeout = 4, time.Hour
	s := newSite(t, l)
	for range 4 {
		s.network()
	}
	eventually(t, "all are under way", func() bool { return s.server.Counts().Connections == 4 })
	s.connect("acme.alice").works("alice-main", "m1", 1)
	eventually(t, "one made way", func() bool { return s.server.Counts().Unsecured == 1 })
}

// A handshake, and a request, must come in their time.
func TestHandshakesAreTimed(t *testing.T) {
	l := limits()
	bubble(t, l, func(t *testing.T, s *site) {
		mute, begun := s.network(), time.Now()
		_, _ = io.ReadAll(mute)
		if took := time.Since(begun); took != l.HeaderTimeout {
			t.Errorf("a handshake took %v", took)
		}
		half := s.dial()
		begun = time.Now()
		fmt.Fprint(half, "GET /connect/v1 HTTP/1.1\r\nHost: ")
		_, _ = io.ReadAll(half)
		if took := time.Since(begun); took < l.HeaderTimeout || took > l.HeaderTimeout+time.Second {
			t.Errorf("a request took %v", took)
		}
	})
}

// So many connections a second are let in; the others wait, and are let in after them.
func TestAcceptRate(t *testing.T) {
	l := limits()
	l.AcceptRate, l.AcceptBurst = 10, 5
	bubble(t, l, func(t *testing.T, s *site) {
		begun := time.Now()
		for range 25 {
			s.dial()
		}
		if took := time.Since(begun); took < 1900*time.Millisecond || took > 2100*time.Millisecond {
			t.Errorf("20 above the burst took %v", took)
		}
	})
}

// A request line and header have a limit, and TLS below 1.2 is not spoken.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	c := s.dial()
	go fmt.Fprint(c, "GET /connect/v1 HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("a", 64<<10)+"\r\n\r\n")
	answer := make([]byte, 64)
	_ = c.SetReadDeadline(time.Now().Add(patience))
	n, _ := c.Read(answer)
	if !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 431") {
		t.Errorf("answered %q", answer[:n])
	}
	if s.dial().ConnectionState().NegotiatedProtocol != "" {
		t.Error("a protocol was chosen that was not offered")
	}
}

// What waits for a device that takes nothing waits where it is stored: between there and the device there is room for a few
// hundred KiB, the kernel's included.
func TestWhoReadsNothingHoldsLittle(t *testing.T) {
	t.Parallel()
	l := limits()
	l.WriteTimeout = time.Second
	s := newSite(t, l)
	var all []engine.Message
	body := []byte(`"` + strings.Repeat("x", 32<<10) + `"`)
	for i := range int64(400) {
		all = append(all, engine.Message{Route: "main", Seq: i + 1, ID: "m", Body: body})
	}
	s.mu.Lock()
	s.tenant("acme").routes["main"] = all
	s.mu.Unlock()
	p := s.connect("acme.phone")
	_ = p.Conn.(*tls.Conn).NetConn().(*net.TCPConn).SetReadBuffer(4 << 10)
	p.say(`{"op":"subscribe","handle":"phone-main","after":0}`)
	eventually(t, "it is cut", func() bool { return s.open() == 0 })
	if taken := s.takes.Load(); taken > 12 {
		t.Errorf("%d KiB were taken for it", taken*32)
	}
}
