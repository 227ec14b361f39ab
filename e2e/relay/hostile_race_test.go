package relay

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// atOnce runs n calls together and counts what they return.
func atOnce(n int, call func(i int) string) map[string]int {
	var all sync.WaitGroup
	var mu sync.Mutex
	counts := map[string]int{}
	for i := range n {
		all.Go(func() {
			out := call(i)
			mu.Lock()
			defer mu.Unlock()
			counts[out]++
		})
	}
	all.Wait()
	return counts
}

func (w *world) outcome(method, path string, body any) string {
	a := w.Do(w.Token, method, path, body)
	return fmt.Sprintf("%d %s", a.Status, a.Slug())
}

// Of many who create one tenant at once, one does.
func TestOneTenantCreatedByMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counts := atOnce(60, func(i int) string {
		return w.outcome("POST", "/api/v1/tenants", contract.NewTenant{ID: fmt.Sprintf("t%d", i%6), HomeRegion: "eu"})
	})
	if counts["201 "] != 6 || counts["409 tenant_exists"] != 54 {
		t.Fatalf("60 calls for 6 tenants: %v", counts)
	}
}

// A node never takes more tenants than it has places, however many come at once; the others wait, and none is lost (P12).
func TestMoreTenantsThanPlaces(t *testing.T) {
	t.Parallel()
	const places, tenants = 10, 120
	w := newWorld(t)
	w.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: "us", Origin: "https://us.relay.test"}, 201, nil)
	w.NewNode("west", "us", places)
	counts := atOnce(tenants, func(i int) string {
		return w.outcome("POST", "/api/v1/tenants", contract.NewTenant{ID: fmt.Sprintf("w%03d", i), HomeRegion: "us"})
	})
	if counts["201 "] != tenants {
		t.Fatalf("creating: %v", counts)
	}
	var node contract.Node
	w.Operator("GET", "/api/v1/nodes/west", nil, 200, &node)
	var queue contract.PlacementQueue
	w.Operator("GET", "/api/v1/placement-queue?region=us&limit=500", nil, 200, &queue)
	if node.Tenants != places || len(queue.Waiting) != tenants-places {
		t.Fatalf("%d are placed and %d wait, want %d and %d", node.Tenants, len(queue.Waiting), places, tenants-places)
	}
}

// A write whose client went away is carried out once or not at all; who comes back with its key learns which, and the
// key makes no second one (DESIGN §9).
func TestAClientThatGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	counts := atOnce(24, func(i int) string {
		body := []byte(fmt.Sprintf(`{"id":"gone%d","home_region":"eu"}`, i))
		ctx, leave := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, "POST", w.API+"/api/v1/tenants", &leaving{bytes.NewReader(body), leave, i%3 == 0})
		if err != nil {
			return err.Error()
		}
		req.ContentLength = int64(len(body))
		req.Header.Set("Authorization", "Bearer "+w.Token)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set(contract.HeaderIdempotencyKey, fmt.Sprintf("gone-%d", i))
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
		leave()
		var last harness.Answer
		w.Eventually("the key is settled", func() bool {
			last = w.Do(w.Token, "POST", "/api/v1/tenants", string(body), contract.HeaderIdempotencyKey, fmt.Sprintf("gone-%d", i))
			return last.Slug() != "idempotency_outcome_unknown"
		})
		return fmt.Sprintf("%d %s", last.Status, last.Slug())
	})
	if counts["201 "] != 24 {
		t.Fatalf("who came back learned %v; berthd said:\n%s", counts, w.Output())
	}
	var list contract.Tenants
	w.Operator("GET", "/api/v1/tenants?limit=500", nil, 200, &list)
	if len(list.Tenants) != 25 {
		t.Fatalf("there are %d tenants, want 25", len(list.Tenants))
	}
	for _, one := range list.Tenants {
		if one.Authorization.Revision != 1 {
			t.Errorf("%s was made more than once: %+v", one.ID, one)
		}
	}
}

// leaving is a body whose sender is gone when it is through, or before it began.
type leaving struct {
	*bytes.Reader
	leave context.CancelFunc
	early bool
}

func (l *leaving) Read(p []byte) (int, error) {
	if l.early {
		l.leave()
	}
	n, err := l.Reader.Read(p)
	if l.Len() == 0 {
		l.leave()
	}
	return n, err
}

// Draining, activating, cordoning and retiring a node race for it: it comes out as one of what was asked, and one that
// holds a tenant is never retired (P12).
func TestDrainRacingRetire(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	holder, empty := w.holder().ID, w.other().ID
	for _, node := range []string{holder, empty} {
		counts := atOnce(32, func(i int) string {
			switch i % 4 {
			case 0:
				return w.outcome("POST", "/api/v1/nodes/"+node+"/drain", nil)
			case 1:
				return w.outcome("POST", "/api/v1/nodes/"+node+"/activate", nil)
			case 2:
				return w.outcome("DELETE", "/api/v1/nodes/"+node, nil)
			default:
				return w.outcome("PATCH", "/api/v1/nodes/"+node, `{"schedulable":false}`)
			}
		})
		for what := range counts {
			if strings.HasPrefix(what, "5") {
				t.Errorf("%s: %v", node, counts)
			}
		}
	}
	var shown contract.Node
	w.Operator("GET", "/api/v1/nodes/"+holder, nil, 200, &shown)
	if shown.Status == "retired" || shown.Tenants != 1 {
		t.Errorf("the node that holds a tenant is %+v", shown)
	}
	var verdict contract.AuditVerdict
	if w.Operator("GET", "/api/v1/audit/verify", nil, 200, &verdict); !verdict.Whole {
		t.Errorf("the audit log is %+v", verdict)
	}
}
