package identity_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/fault"
	"berth/domain/identity"
)

const peerBound = 65 * time.Second

func peerID(tb interface{ Fatalf(string, ...any) }, trustDomain, region, node string) identity.SPIFFEID {
	id, err := identity.RelayID(trustDomain, region, node)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return id
}

func slugOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.SlugOf(err)
}

// Each way of not being a peer is refused by its own name; the real one is believed up to the bound and not beyond.
func TestPeerListJudges(t *testing.T) {
	t.Parallel()
	self, other := peerID(t, "berth.test", "eu", "n0"), peerID(t, "berth.test", "eu", "n1")
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	good := identity.NodeCertificate{SPIFFEID: other, Fingerprint: fmt.Sprintf("%064x", 1), NotBefore: start, NotAfter: start.Add(time.Hour)}
	with := func(change func(*identity.NodeCertificate)) identity.NodeCertificate {
		c := good
		change(&c)
		return c
	}
	list := identity.NewPeerList(self, []identity.ListedPeer{
		{SPIFFEID: other, Fingerprint: good.Fingerprint, ExpiresAt: good.NotAfter},
		{SPIFFEID: self, Fingerprint: fmt.Sprintf("%064x", 2), ExpiresAt: good.NotAfter},
		{SPIFFEID: other, Fingerprint: fmt.Sprintf("%064x", 3), ExpiresAt: start.Add(time.Minute)},
	}, 100*time.Second)
	for name, c := range map[string]struct {
		list *identity.PeerList
		c    identity.NodeCertificate
		wall time.Time
		at   time.Duration
		slug string
	}{
		"good":                {list, good, start, 100 * time.Second, ""},
		"good to the end":     {list, good, start.Add(time.Hour - 1), 165*time.Second - 1, ""},
		"list at its bound":   {list, good, start, 165 * time.Second, "peers_stale"},
		"list of the future":  {list, good, start, 100*time.Second - 1, "peers_stale"},
		"no list":             {nil, good, start, 100 * time.Second, "peers_unknown"},
		"other domain":        {list, with(func(c *identity.NodeCertificate) { c.SPIFFEID = peerID(t, "evil.test", "eu", "n1") }), start, 100 * time.Second, "peer_trust_domain"},
		"other region":        {list, with(func(c *identity.NodeCertificate) { c.SPIFFEID = peerID(t, "berth.test", "us", "n1") }), start, 100 * time.Second, "peer_region"},
		"no identity":         {list, with(func(c *identity.NodeCertificate) { c.SPIFFEID = identity.SPIFFEID{} }), start, 100 * time.Second, "peer_trust_domain"},
		"another node's id":   {list, with(func(c *identity.NodeCertificate) { c.SPIFFEID = peerID(t, "berth.test", "eu", "n2") }), start, 100 * time.Second, "peer_id_mismatch"},
		"itself":              {list, with(func(c *identity.NodeCertificate) { c.SPIFFEID = self; c.Fingerprint = fmt.Sprintf("%064x", 2) }), start, 100 * time.Second, "peer_is_self"},
		"unlisted":            {list, with(func(c *identity.NodeCertificate) { c.Fingerprint = fmt.Sprintf("%064x", 9) }), start, 100 * time.Second, "peer_not_listed"},
		"early":               {list, good, start.Add(-1), 100 * time.Second, "peer_not_yet_valid"},
		"ended":               {list, good, start.Add(time.Hour), 100 * time.Second, "peer_expired"},
		"ended by the list":   {list, with(func(c *identity.NodeCertificate) { c.Fingerprint = fmt.Sprintf("%064x", 3) }), start.Add(time.Minute), 100 * time.Second, "peer_expired"},
		"ended, and unlisted": {list, with(func(c *identity.NodeCertificate) { c.Fingerprint = "" }), start.Add(time.Hour), 100 * time.Second, "peer_expired"},
	} {
		if err := c.list.Judge(c.c, identity.Moment{Wall: c.wall, Elapsed: c.at}, peerBound); slugOf(err) != c.slug {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever the list, the certificate and the clocks: who is believed is listed under exactly its id, is of this region and
// not this node, and the list is younger than the bound; and who was believed and is left out of a later list is not.
func TestPeerListBelievesOnlyTheListed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		self := peerID(t, "berth.test", "eu", "n0")
		ids := []identity.SPIFFEID{self, peerID(t, "berth.test", "eu", "n1"), peerID(t, "berth.test", "us", "n1"), peerID(t, "evil", "eu", "n1"), peerID(t, "berth.test", "eu", "n2")}
		id, print := rapid.SampledFrom(ids), rapid.SampledFrom([]string{"a", "b", "c"})
		span := rapid.IntRange(-100, 100)
		listed := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) identity.ListedPeer {
			return identity.ListedPeer{SPIFFEID: id.Draw(t, "id"), Fingerprint: print.Draw(t, "print"), ExpiresAt: start.Add(time.Duration(span.Draw(t, "ends")) * time.Second)}
		}), func(p identity.ListedPeer) string { return p.Fingerprint }).Draw(t, "list")
		c := identity.NodeCertificate{
			SPIFFEID: id.Draw(t, "of"), Fingerprint: print.Draw(t, "shown"),
			NotBefore: start.Add(time.Duration(span.Draw(t, "from")) * time.Second), NotAfter: start.Add(time.Duration(span.Draw(t, "to")) * time.Second),
		}
		asked := time.Duration(rapid.IntRange(0, 200).Draw(t, "asked")) * time.Second
		at := identity.Moment{Wall: start, Elapsed: time.Duration(rapid.IntRange(0, 300).Draw(t, "now")) * time.Second}
		list := identity.NewPeerList(self, listed, asked)
		want := false
		for _, p := range listed {
			want = want || p.Fingerprint == c.Fingerprint && p.SPIFFEID == c.SPIFFEID && p.ExpiresAt.After(start)
		}
		want = want && c.SPIFFEID != self && c.SPIFFEID.Region() == "eu" && c.SPIFFEID.TrustDomain() == "berth.test" && c.InForce(start)
		want = want && at.Elapsed >= asked && at.Elapsed-asked < peerBound
		if got := list.Judge(c, at, peerBound) == nil; got != want {
			t.Fatalf("believed %t, by the rule %t: %v", got, want, list.Judge(c, at, peerBound))
		}
		later := identity.NewPeerList(self, nil, asked+1)
		if later.Judge(c, at, peerBound) == nil {
			t.Fatal("an empty list believes somebody")
		}
	})
}

// A kid and a public key are judged before anything is verified by them.
func TestCheckTokenKey(t *testing.T) {
	t.Parallel()
	good := make([]byte, 32)
	good[0] = 2 // no point of small order
	for name, c := range map[string]struct {
		kid    string
		public []byte
		slug   string
	}{
		"good": {"k-1_A", good, ""}, "no kid": {"", good, "kid_malformed"}, "a kid with a space": {"a b", good, "kid_malformed"},
		"short": {"k", good[:31], "public_key_malformed"}, "long": {"k", append(good[:32:32], 0), "public_key_malformed"},
		"none": {"k", nil, "public_key_malformed"}, "small order": {"k", make([]byte, 32), "public_key_malformed"},
	} {
		if err := identity.CheckTokenKey(c.kid, c.public); slugOf(err) != c.slug {
			t.Errorf("%s: %v", name, err)
		}
	}
}
