package connect_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"berth/adapters/contract"
	"berth/application/relay"
	"berth/ports/authority"
)

// What was taken for a device before it was revoked is not brought to it any more.
func TestRevokedWhileTaking(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		phone, bob := s.connect("acme.phone"), s.connect("acme.bob")
		phone.say(`{"op":"subscribe","handle":"phone-main","after":0}`)
		phone.expect(contract.Frame{Op: contract.OpSubscribed, Route: "main"})
		synctest.Wait()
		hold := make(chan struct{})
		s.mu.Lock()
		s.taking = hold
		s.mu.Unlock()
		bob.works("bob-main", "m1", 1)
		synctest.Wait()
		s.end("phone", relay.End{Reason: relay.Revoked})
		close(hold)
		phone.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayRevoked})
		phone.closes(contract.CloseRevoked, contract.GoawayRevoked)
	})
}

// A node that is being emptied answers what is under way first, too, and then at once.
func TestDrainingAnswersFirst(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		p, hold := s.connect("acme.alice"), make(chan struct{})
		s.mu.Lock()
		s.hold = hold
		s.mu.Unlock()
		p.say(`{"op":"publish","handle":"alice-main","id":"m1","body":1}`)
		synctest.Wait()
		s.end("alice", relay.End{Reason: relay.Draining})
		synctest.Wait()
		begun := time.Now()
		close(hold)
		p.expect(contract.Frame{Op: contract.OpAck, ID: "m1", Seq: 1})
		p.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayDraining})
		if took := time.Since(begun); took > 0 {
			t.Errorf("the goaway came %v later", took)
		}
		p.closes(contract.CloseRestart, contract.GoawayDraining)
	})
}

// An upgrade that was under way when the node began to stop opens no session.
func TestStopDuringAnUpgrade(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		found := make(chan struct{})
		s.where = append(s.where, func() (relay.Where, error) {
			<-found
			return relay.Where{Here: true}, nil
		})
		c := s.dial()
		fmt.Fprint(c, upgradeRequest(offer, alice))
		synctest.Wait()
		stopped := make(chan struct{})
		go func() { s.handler.Stop(t.Context()); close(stopped) }()
		synctest.Wait()
		close(found)
		r, err := http.ReadResponse(bufio.NewReader(c), nil)
		refused(t, readAnswer(t, r, err), http.StatusServiceUnavailable, "node_stopping")
		<-stopped
		if s.left != 0 {
			t.Error("a session was opened")
		}
	})
}

// A request that is passed on ends with the node's stop.
func TestStopEndsWhatIsPassedOn(t *testing.T) {
	t.Parallel()
	passed := make(chan struct{})
	s := newSiteWith(t, limits(), peers(func(w http.ResponseWriter, r *http.Request, _ authority.Route) error {
		close(passed)
		<-r.Context().Done()
		w.WriteHeader(http.StatusTeapot)
		return nil
	}))
	s.where = append(s.where, there("good"))
	c := s.dial()
	fmt.Fprint(c, upgradeRequest(offer, alice))
	<-passed
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.handler.Stop(ctx)
	if ctx.Err() != nil {
		t.Error("the stop waited")
	}
}

// An upgrade that fails once its session is open leaves it.
func TestFailedUpgradesLeaveTheirSession(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(upgradeRequest(offer, alice))))
	if err != nil {
		t.Fatal(err)
	}
	record(t, s.handler, r) // a recorder can not be hijacked
	if s.open() != 0 || s.left != 1 || s.handler.Counts().Connections != 0 {
		t.Errorf("%d sessions are open, %d were left", s.open(), s.left)
	}
}

// An error names the handle, or of a publish its id.
func TestErrorsNameWhatFailed(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	p := s.connect("acme.alice")
	p.say(`{"op":"subscribe","handle":"bob-main","after":0}`)
	if f := p.hear(); f.Handle != "bob-main" || f.ID != "" {
		t.Errorf("got %+v", f)
	}
	p.say(`{"op":"publish","handle":"bob-main","id":"x","body":1}`)
	if f := p.hear(); f.Handle != "" || f.ID != "x" {
		t.Errorf("got %+v", f)
	}
}

// upload begins an upload and returns its connection.
func (s *site) upload(length int) net.Conn {
	c := s.dial()
	fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: x\r\n%s\r\nContent-Length: %d\r\n\r\n", attachment(digestOf("x")), alice, length)
	return c
}

// An upload that does not move is given up after its time, and one that crawls after what its size may take.
func TestUploadsAreTimed(t *testing.T) {
	l := limits()
	l.UploadLeast = 10
	bubble(t, l, func(t *testing.T, s *site) {
		for crawls, want := range map[bool]time.Duration{false: l.TransferStall, true: l.TransferStall + 100*time.Second} {
			c, begun := s.upload(1000), time.Now()
			var crawling sync.WaitGroup
			if crawls {
				crawling.Go(func() {
					for {
						if _, err := c.Write([]byte("x")); err != nil {
							return
						}
						time.Sleep(time.Second) //nolint:forbidigo // a bubble's
					}
				})
			}
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			took := time.Since(begun)
			refused(t, readAnswer(t, r, err), http.StatusRequestTimeout, "body_too_slow")
			if took < want || took > want+time.Second {
				t.Errorf("it was given up after %v, want %v", took, want)
			}
			eventually(t, "it is over", func() bool { return s.handler.Counts().Transfers == 0 })
			_ = c.Close()
			crawling.Wait()
		}
	})
}

// A download that nobody takes is given up after its time.
func TestDownloadsAreTimed(t *testing.T) {
	l := limits()
	l.TransferStall = 5 * time.Second
	bubble(t, l, func(t *testing.T, s *site) {
		content := strings.Repeat("x", 1<<19)
		digest := digestOf(content)
		raw, _ := hexDigest(digest)
		s.tenant("acme").files[raw] = []byte(content)
		c := s.dial()
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n%s\r\n\r\n", attachment(digest), alice)
		begun := time.Now()
		synctest.Wait()
		if n := s.handler.Counts().Transfers; n != 1 {
			t.Fatalf("%d transfers", n)
		}
		eventually(t, "it is over", func() bool { return s.handler.Counts().Transfers == 0 })
		if took := time.Since(begun); took < l.TransferStall || took > l.TransferStall+time.Second {
			t.Errorf("it was given up after %v", took)
		}
	})
}

// A stop cuts the transfers that are still there when its time is over.
func TestStopCutsTransfers(t *testing.T) {
	bubble(t, limits(), func(t *testing.T, s *site) {
		s.upload(1000)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		s.handler.Stop(ctx)
		synctest.Wait()
		if n := s.handler.Counts().Transfers; n != 0 || time.Since(begun) != time.Second {
			t.Errorf("%d transfers are left after %v", n, time.Since(begun))
		}
	})
}
