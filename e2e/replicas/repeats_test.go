package replicas

import (
	"encoding/json"
	"testing"

	"berth/adapters/contract"
	"berth/domain/identity"
	"berth/e2e/harness"
)

// An assertion that one replica took is refused by the other, at once and after both were started anew, for a heartbeat,
// which is stored together with others, and for a report, which is not (I4).
func TestAssertionReplayedToTheOtherReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder := w.holder()
	sent := map[string]*replayed{
		"heartbeat": w.assert(holder, "/nodes/"+holder.ID+"/heartbeat", contract.Heartbeat{Generation: 1, Sequence: 5}),
		"report":    w.assert(holder, "/tenants/acme/backups", contract.NewBackup{Generation: 1, Sequence: 12, ManifestRoot: harness.Root(5)}),
	}
	for name, r := range sent {
		if a := r.to(w.one); a.Status >= 300 {
			t.Fatalf("the first %s: %d %s", name, a.Status, a.Body)
		}
	}
	refused := func(when string) {
		t.Helper()
		for name, r := range sent {
			for i, s := range w.both() {
				if a := r.to(s); a.Status != 401 || a.Slug() != "assertion_replayed" {
					t.Errorf("%s, the %s to replica %d: %d %s", when, name, i+1, a.Status, a.Body)
				}
			}
		}
	}
	refused("at once")
	for _, s := range w.both() {
		s.Kill()
	}
	for _, s := range w.both() {
		s.Run()
	}
	refused("after both were killed and started")
}

// replayed is a request of a node with one assertion, however often it is sent.
type replayed struct {
	path, assertion string
	body            []byte
}

func (w *world) assert(n *harness.Node, path string, body any) *replayed {
	w.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	value, err := identity.Seal(w.one.Secret, n.Payload("POST", path, data))
	if err != nil {
		w.t.Fatal(err)
	}
	return &replayed{path, value, data}
}

func (r *replayed) to(s *harness.Server) harness.Answer {
	return s.Internal("POST", r.path, r.body, contract.HeaderAssertion, r.assertion)
}

// A write that one replica carried out is answered by the other under its Idempotency-Key, and not carried out again
// (DESIGN §9).
func TestIdempotencyKeyRepeatedToTheOtherReplica(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	post := func(s *harness.Server, role string) harness.Answer {
		return s.Do(s.Token, "POST", "/api/v1/tenants/acme/pairing-codes", contract.NewPairingCode{Role: role},
			contract.HeaderIdempotencyKey, "k-1")
	}
	var first, again contract.PairingCode
	harness.Decode(t, post(w.one, "owner"), 201, &first)
	repeated := post(w.two, "owner")
	harness.Decode(t, repeated, 201, &again)
	if first.Code == "" || again.Code != "" || !again.ExpiresAt.Equal(first.ExpiresAt) || repeated.Header.Get(contract.HeaderReplayed) != "true" {
		t.Errorf("first %+v, again %+v", first, again)
	}
	if a := post(w.two, "member"); a.Slug() != "idempotency_key_reused" {
		t.Errorf("another body under the same key: %d %s", a.Status, a.Body)
	}
	racing := make(chan harness.Answer, 16)
	for i := range cap(racing) {
		s := w.turn(i)
		go func() {
			racing <- s.Ask(t.Context(), s.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: "once", HomeRegion: "eu"},
				contract.HeaderIdempotencyKey, "k-2")
		}()
	}
	made := 0
	for range cap(racing) {
		switch a := <-racing; {
		case a.Status == 201 && a.Header.Get(contract.HeaderReplayed) == "":
			made++
		case a.Status == 201, a.Slug() == "idempotency_outcome_unknown":
		default:
			t.Errorf("a racing repeat got %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	if made != 1 {
		t.Errorf("%d of the racing repeats were carried out", made)
	}
}
