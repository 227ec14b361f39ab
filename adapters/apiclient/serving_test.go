package apiclient_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/authority"
)

const (
	keysAt   = "GET /internal/v1/signing-keys"
	peersAt  = "GET /internal/v1/peers"
	routeAt  = "GET /internal/v1/tenants/acme/route"
	revokeAt = "POST /internal/v1/tenants/acme/principals/p1/revoke"
)

func publicKey(n byte) string {
	seed := make([]byte, ed25519.SeedSize)
	seed[0] = n
	public, _ := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
	return base64.RawURLEncoding.EncodeToString(public)
}

func wireKey(kid, state string, n byte) contract.SigningKey {
	return contract.SigningKey{
		KID: kid, Purpose: "device-token", State: state, PublicKey: publicKey(n), VerifyUntil: time.Date(2030, 1, 2, 3, 4, 5, 6789, time.UTC),
	}
}

// A node verifies by the keys that are pending, active or retiring, each up to its own end; one that ended is not among
// them, whatever its window says (I6).
func TestKeysOverTheWire(t *testing.T) {
	t.Parallel()
	s, a, _ := newStub(t)
	s.says(keysAt, contract.SigningKeys{Keys: []contract.SigningKey{
		wireKey("a", "pending", 1), wireKey("b", "active", 2), wireKey("c", "retiring", 3), wireKey("d", "retired", 4), wireKey("e", "compromised", 5),
	}})
	got, err := a.Keys(t.Context())
	if err != nil || len(got) != 3 {
		t.Fatalf("the keys are %v, %v", got, err)
	}
	for _, kid := range []string{"a", "b", "c"} {
		k := got[kid]
		if len(k.PublicKey) != ed25519.PublicKeySize || !k.VerifyUntil.Equal(time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC)) {
			t.Errorf("%s is %v", kid, k)
		}
	}
}

// The list of peers is asked for page by page, to its end.
func TestPeersOverTheWire(t *testing.T) {
	t.Parallel()
	s, a, _ := newStub(t)
	ends := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	page := func(from int, next string) contract.Peers {
		out := contract.Peers{Next: next}
		for i := from; i < from+2; i++ {
			out.Peers = append(out.Peers, contract.Peer{
				Node: fmt.Sprintf("n%d", i), SPIFFEID: fmt.Sprintf("spiffe://berth.test/relay/eu/n%d", i), Fingerprint: fmt.Sprintf("%064x", i), ExpiresAt: ends,
			})
		}
		return out
	}
	s.says(peersAt, page(0, "one"))
	s.says(peersAt+"?one", page(2, "two"))
	s.says(peersAt+"?two", page(4, ""))
	got, err := a.Peers(t.Context())
	if err != nil || len(got) != 6 || got[5] != (authority.Peer{Node: "n5", SPIFFEID: "spiffe://berth.test/relay/eu/n5", Fingerprint: fmt.Sprintf("%064x", 5), ExpiresAt: ends}) {
		t.Fatalf("the peers are %v, %v", got, err)
	}
	for name, last := range map[string]contract.Peers{
		"the same page for ever": page(4, "two"), "a certificate twice": page(3, ""), "an empty page that goes on": {Next: "three"},
	} {
		s.says(peersAt+"?two", last)
		if _, err := a.Peers(t.Context()); fault.SlugOf(err) != "unexpected_answer" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A revoke and a route cross the wire without loss.
func TestRevokeAndRouteOverTheWire(t *testing.T) {
	t.Parallel()
	s, a, _ := newStub(t)
	s.says(revokeAt, contract.Revoked{Revision: 12, RevokedHandles: 1})
	got, err := a.Revoke(t.Context(), authority.Revoke{Tenant: "acme", Generation: 3, Principal: "p1", AskedBy: "p2"})
	if err != nil || got != 12 || s.body(revokeAt) != `{"generation":3,"asked_by":"p2"}` {
		t.Fatalf("revoked at %d with %s, %v", got, s.body(revokeAt), err)
	}
	for _, address := range []string{"relay-1.example:8444", ""} {
		s.says(routeAt, contract.Route{Node: "n1", Generation: 3, PlacementVersion: 7, PeerAddress: address, SPIFFEID: "spiffe://berth.test/relay/eu/n1"})
		r, err := a.Route(t.Context(), "acme")
		if err != nil || r != (authority.Route{Tenant: "acme", Node: "n1", Generation: 3, Version: 7, Address: address, SPIFFEID: "spiffe://berth.test/relay/eu/n1"}) {
			t.Fatalf("the route is %+v, %v", r, err)
		}
	}
	if _, err := a.Route(t.Context(), "other"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the route of nothing: %v", err)
	}
}

// Of what is out of form nothing is believed.
func TestServingGuessesNothing(t *testing.T) {
	t.Parallel()
	s, a, _ := newStub(t)
	key := func(change func(*contract.SigningKey)) contract.SigningKeys {
		k := wireKey("a", "active", 1)
		change(&k)
		return contract.SigningKeys{Keys: []contract.SigningKey{k}}
	}
	peer := func(node, id, fingerprint string, ends time.Time) contract.Peers {
		return contract.Peers{Peers: []contract.Peer{{Node: node, SPIFFEID: id, Fingerprint: fingerprint, ExpiresAt: ends}}}
	}
	route := func(change func(*contract.Route)) contract.Route {
		r := contract.Route{Node: "n1", Generation: 3, PlacementVersion: 7, PeerAddress: "h:1", SPIFFEID: "spiffe://berth.test/relay/eu/n1"}
		change(&r)
		return r
	}
	const n1, digest = "spiffe://berth.test/relay/eu/n1", "00000000000000000000000000000000000000000000000000000000000000ab"
	now := time.Now()
	bad := map[string][]any{
		keysAt: {
			contract.SigningKeys{Keys: []contract.SigningKey{wireKey("a", "active", 1), wireKey("a", "retired", 2)}},
			key(func(k *contract.SigningKey) { k.KID = "" }), key(func(k *contract.SigningKey) { k.KID = "a b" }),
			key(func(k *contract.SigningKey) { k.Purpose = "desired-state" }), key(func(k *contract.SigningKey) { k.State = "new" }),
			key(func(k *contract.SigningKey) { k.VerifyUntil = time.Time{} }),
			key(func(k *contract.SigningKey) { k.PublicKey = k.PublicKey[:42] }), key(func(k *contract.SigningKey) { k.PublicKey += "AA" }),
			key(func(k *contract.SigningKey) { k.PublicKey += "=" }), key(func(k *contract.SigningKey) { k.PublicKey = k.PublicKey[:20] + "\n" + k.PublicKey[20:] }),
			key(func(k *contract.SigningKey) { k.PublicKey = strings.Repeat("A", 43) }), // the point of order 4
		},
		peersAt: {
			peer("n2", n1, digest, now), peer("n1", "spiffe://berth.test/agent/eu/n1", digest, now), peer("n1", n1+"/", digest, now),
			peer("n1", n1, strings.ToUpper(digest), now), peer("n1", n1, digest[:63], now), peer("n1", n1, "", now), peer("n1", n1, digest, time.Time{}),
		},
		revokeAt: {`{}`, contract.Revoked{Revision: -1}, contract.Revoked{Revision: 1 << 53}},
		routeAt: {
			`{}`, route(func(r *contract.Route) { r.Node = "n2" }), route(func(r *contract.Route) { r.Generation = 0 }),
			route(func(r *contract.Route) { r.PlacementVersion = 0 }), route(func(r *contract.Route) { r.PlacementVersion = 1 << 53 }),
			route(func(r *contract.Route) { r.SPIFFEID = "spiffe://berth.test/relay/eu/n1?x" }),
			route(func(r *contract.Route) { r.PeerAddress = "h" }), route(func(r *contract.Route) { r.PeerAddress = "h:1/x" }),
			route(func(r *contract.Route) { r.PeerAddress = "u@h:1" }), route(func(r *contract.Route) { r.PeerAddress = "h:99999" }),
		},
	}
	calls := map[string]func() error{
		keysAt:  func() error { _, err := a.Keys(t.Context()); return err },
		peersAt: func() error { _, err := a.Peers(t.Context()); return err },
		revokeAt: func() error {
			_, err := a.Revoke(t.Context(), authority.Revoke{Tenant: "acme", Generation: 1, Principal: "p1", AskedBy: "p2"})
			return err
		},
		routeAt: func() error { _, err := a.Route(t.Context(), "acme"); return err },
	}
	for at, answers := range bad {
		for _, answer := range answers {
			s.says(at, answer)
			if err := calls[at](); fault.SlugOf(err) != "unexpected_answer" {
				t.Errorf("%s answers %+v: %v", at, answer, err)
			}
		}
	}
}
