package connect_test

import (
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
)

// A publish is acknowledged with its sequence, and comes to whoever is subscribed: from after what it names, in order,
// each once, with who published it and when.
func TestPublishAndSubscribe(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice, bob := s.connect("acme.alice"), s.connect("acme.bob")
	alice.works("alice-main", "m1", 1)
	alice.works("alice-main", "m2", 2)
	bob.say(`{"op":"subscribe","handle":"bob-main","after":1}`)
	bob.expect(contract.Frame{Op: contract.OpSubscribed, Route: "main", Seq: 2})
	m := bob.expect(contract.Frame{Op: contract.OpMessage, Route: "main", Seq: 2, ID: "m2", Body: []byte(`{"n":1}`)})
	if m.From != "alice" || m.At == nil || !m.At.Equal(time.Date(2026, 1, 2, 3, 4, 5, 678_000, time.UTC)) {
		t.Errorf("got %+v", m)
	}
	body := `{ "text" : "ü\n\"", "n": 1.50 }`
	alice.say(`{"op":"publish","handle":"alice-main","id":"m3","body":%s}`, body)
	alice.expect(contract.Frame{Op: contract.OpAck, ID: "m3", Seq: 3})
	bob.expect(contract.Frame{Op: contract.OpMessage, Route: "main", Seq: 3, ID: "m3", Body: []byte(body)})
	bob.say(`{"op":"unsubscribe","handle":"bob-main"}`)
	bob.expect(contract.Frame{Op: contract.OpUnsubscribed, Route: "main"})
	alice.works("alice-main", "m4", 4)
	bob.works("bob-main", "m1", 5) // an id counts within its principal; and m4 did not come before
}

// A repeated publish is acknowledged as the first was; with another body it is refused, and the connection goes on.
func TestPublishIsIdempotent(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice := s.connect("acme.alice")
	alice.works("alice-main", "m1", 1)
	alice.works("alice-main", "m1", 1)
	alice.say(`{"op":"publish","handle":"alice-main","id":"m1","body":"other"}`)
	alice.expect(contract.Frame{Op: contract.OpError, Of: contract.OpPublish, ID: "m1", Slug: "publish_id_reused"})
	alice.works("alice-main", "m2", 2)
	if n := s.stored("acme", "main"); n != 2 {
		t.Errorf("%d messages are stored", n)
	}
}

// What a device can mend is an error frame that names what failed; the connection goes on, and so do others.
func TestErrorsThatCanBeMended(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice, bob := s.connect("acme.alice"), s.connect("acme.bob")
	for _, c := range []struct{ frame, of, id, slug string }{
		{`{"op":"subscribe","handle":"alice-main","after":1}`, "subscribe", "", "after_beyond_end"},
		{`{"op":"subscribe","handle":"bob-main","after":0}`, "subscribe", "", "handle_refused"},
		{`{"op":"unsubscribe","handle":"bob-main"}`, "unsubscribe", "", "handle_refused"},
		{`{"op":"publish","handle":"bob-main","id":"x","body":1}`, "publish", "x", "handle_refused"},
		{`{"op":"publish","handle":"alice-main","id":"","body":1}`, "publish", "", "publish_id_invalid"},
		{`{"op":"publish","handle":"alice-main","id":"y","body":"` + strings.Repeat("a", 49<<10) + `"}`, "publish", "y", "body_too_large"},
		{`{"op":"revoke","principal":"bob"}`, "revoke", "", "revoke_not_allowed"},
		{`{"op":"renew","token":"acme.bob"}`, "renew", "", "device_token_of_another"},
	} {
		alice.say("%s", c.frame)
		alice.expect(contract.Frame{Op: contract.OpError, Of: c.of, ID: c.id, Slug: c.slug})
	}
	if n := s.stored("acme", "main"); n != 0 {
		t.Errorf("%d messages are stored", n)
	}
	alice.works("alice-main", "m1", 1)
	bob.works("bob-main", "m1", 2)
}

// Where waiting helps, the error says how long; what went wrong inside is said to nobody.
func TestErrorsSayWhatHelps(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice := s.connect("acme.alice")
	alice.say(`{"op":"publish","handle":"alice-main","id":"flood","body":1}`)
	if f := alice.expect(contract.Frame{Op: contract.OpError, Of: "publish", ID: "flood", Slug: "publish_rate"}); f.RetryAfterMS != 1500 {
		t.Errorf("got %+v", f)
	}
	alice.say(`{"op":"publish","handle":"alice-main","id":"break","body":1}`)
	if f := alice.expect(contract.Frame{Op: contract.OpError, Of: "publish", ID: "break", Slug: "internal"}); strings.Contains(f.Detail, "secret") {
		t.Errorf("got %+v", f)
	}
}

// An owner's revoke is answered once it is committed; the device it names is told so, and its connection ends.
func TestRevoke(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	owner, phone := s.connect("acme.owner"), s.connect("acme.phone")
	owner.say(`{"op":"revoke","principal":"phone"}`)
	if f := owner.expect(contract.Frame{Op: contract.OpRevoked}); f.Principal != "phone" || f.Revision != 7 {
		t.Errorf("got %+v", f)
	}
	phone.expect(contract.Frame{Op: contract.OpGoaway, Reason: contract.GoawayRevoked})
	phone.closes(contract.CloseRevoked, contract.GoawayRevoked)
	owner.works("owner-main", "m1", 1)
}

// A device renews its token without connecting anew.
func TestRenew(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice := s.connect("acme.alice")
	alice.say(`{"op":"renew","token":"acme.alice"}`)
	f := alice.expect(contract.Frame{Op: contract.OpRenewed})
	if f.ExpiresAt == nil || !f.ExpiresAt.Equal(time.Date(2026, 1, 2, 3, 14, 5, 0, time.UTC)) {
		t.Errorf("got %+v", f)
	}
}

// No message of a route comes before the answer to its subscription, however soon it is there.
func TestSubscribedComesFirst(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice, bob := s.connect("acme.alice"), s.connect("acme.bob")
	s.mu.Lock()
	s.follows = func() {
		bob.works("bob-main", "m1", 1)
		<-time.After(20 * time.Millisecond) // time enough for a writer that does not wait
	}
	s.mu.Unlock()
	alice.say(`{"op":"subscribe","handle":"alice-main","after":0}`)
	alice.expect(contract.Frame{Op: contract.OpSubscribed, Route: "main"})
	alice.expect(contract.Frame{Op: contract.OpMessage, Route: "main", Seq: 1, ID: "m1", Body: []byte(`{"n":1}`)})
}

// Nor does one come after the answer to an unsubscribe, although it was on its way.
func TestNothingComesAfterUnsubscribed(t *testing.T) {
	t.Parallel()
	s := newSite(t, limits())
	alice, bob := s.connect("acme.alice"), s.connect("acme.bob")
	alice.say(`{"op":"subscribe","handle":"alice-main","after":0}`)
	alice.expect(contract.Frame{Op: contract.OpSubscribed, Route: "main"})
	eventually(t, "the session was asked", func() bool { return s.takes.Load() > 0 })
	before, hold := s.takes.Load(), make(chan struct{})
	s.mu.Lock()
	s.taking = hold
	s.mu.Unlock()
	bob.works("bob-main", "m1", 1)
	eventually(t, "the session is asked", func() bool { return s.takes.Load() > before })
	alice.say(`{"op":"unsubscribe","handle":"alice-main"}`)
	<-time.After(20 * time.Millisecond) // time enough for a reader that does not wait
	s.mu.Lock()
	s.taking = nil
	s.mu.Unlock()
	close(hold)
	alice.expect(contract.Frame{Op: contract.OpMessage, Route: "main", Seq: 1, ID: "m1", Body: []byte(`{"n":1}`)})
	alice.expect(contract.Frame{Op: contract.OpUnsubscribed, Route: "main"})
}
