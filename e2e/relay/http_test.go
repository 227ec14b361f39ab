package relay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// A body that is not exactly the contract's is a problem with its own slug, and changes nothing.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		path, body string
		status     int
		slug       string
	}{
		"unknown field":     {"/nodes", `{"id":"x","region":"eu","capacity":{"tenants":1,"bytes":1},"colour":1}`, 422, "unknown_field"},
		"duplicate field":   {"/regions", `{"id":"x","id":"y","origin":"https://x.test"}`, 400, "duplicate_field"},
		"wrongly cased":     {"/regions", `{"ID":"x","origin":"https://x.test"}`, 422, "unknown_field"},
		"wrong type":        {"/regions", `{"id":7,"origin":"https://x.test"}`, 422, "wrong_type"},
		"not JSON":          {"/regions", `{`, 400, "malformed_json"},
		"trailing data":     {"/regions", `{"id":"x","origin":"https://x.test"}{}`, 400, "malformed_json"},
		"NUL":               {"/regions", `{"id":"x\u0000","origin":"https://x.test"}`, 400, "invalid_text"},
		"no UTF-8":          {"/regions", "{\"id\":\"\xff\",\"origin\":\"https://x.test\"}", 400, "malformed_json"},
		"missing":           {"/regions", `{"id":"x"}`, 422, "required_field_missing"},
		"id out of form":    {"/regions", `{"id":"No_Good","origin":"https://x.test"}`, 422, "invalid_id"},
		"no https":          {"/regions", `{"id":"x","origin":"http://x.test"}`, 422, "invalid_origin"},
		"origin with path":  {"/regions", `{"id":"x","origin":"https://x.test/p"}`, 422, "invalid_origin"},
		"negative capacity": {"/nodes", `{"id":"x","region":"eu","capacity":{"tenants":-1,"bytes":1}}`, 422, "out_of_range"},
		"past 2^53":         {"/nodes", `{"id":"x","region":"eu","capacity":{"tenants":9007199254740993,"bytes":1}}`, 422, "out_of_range"},
		"fraction":          {"/nodes", `{"id":"x","region":"eu","capacity":{"tenants":1.5,"bytes":1}}`, 422, "wrong_type"},
		"too large":         {"/regions", `{"id":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "body_too_large"},
		"empty":             {"/regions", ``, 400, "invalid_request"},
	} {
		a := w.Do(w.Token, "POST", "/api/v1"+c.path, c.body)
		if a.Status != c.status || a.Slug() != c.slug {
			t.Errorf("%s: %d %q, want %d %q\n%s", name, a.Status, a.Slug(), c.status, c.slug, a.Body)
		}
	}
	var regions contract.Regions
	w.Operator("GET", "/api/v1/regions", nil, 200, &regions)
	if len(regions.Regions) != 1 {
		t.Fatalf("a refused request made a region: %+v", regions)
	}
}

// Unknown paths, methods and parameters are problems too, and ambiguous targets are refused.
func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Refused("GET", "/api/v1/nothing", nil, 404, "path_unknown")
	w.Refused("PUT", "/api/v1/regions", nil, 405, "method_not_allowed")
	w.Refused("GET", "/api/v1/regions?colour=red", nil, 422, "invalid_value")
	w.Refused("GET", "/api/v1//regions", nil, 422, "target_ambiguous")
	w.Refused("GET", "/api/v1/nodes/%2e%2e/regions", nil, 422, "target_ambiguous")
	w.Refused("GET", "/api/v1/nodes/none", nil, 404, "node_not_found")
	w.Refused("GET", "/internal/v1/nodes/a/assignments", nil, 404, "path_unknown")
}

// Roles are viewer < operator < admin; the bootstrap token is closed once an admin exists; a revoked token is refused.
func TestOperatorTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tokens := map[string]contract.Token{}
	for _, role := range []string{"viewer", "operator"} {
		var out contract.Token
		w.Operator("POST", "/api/v1/tokens", contract.NewToken{Name: role, Role: role}, 201, &out)
		tokens[role] = out
	}
	newTenant := contract.NewTenant{ID: "t", HomeRegion: "eu"}
	for _, c := range []struct {
		token, method, path string
		body                any
		status              int
		slug                string
	}{
		{"", "GET", "/api/v1/nodes", nil, 401, "token_missing"},
		{"nonsense", "GET", "/api/v1/nodes", nil, 401, "token_malformed"},
		{harness.Bootstrap, "GET", "/api/v1/nodes", nil, 403, "bootstrap_closed"},
		{tokens["viewer"].Token, "GET", "/api/v1/nodes", nil, 200, ""},
		{tokens["viewer"].Token, "POST", "/api/v1/tenants", newTenant, 403, "role_insufficient"},
		{tokens["operator"].Token, "POST", "/api/v1/regions", contract.NewRegion{ID: "r", Origin: "https://r.test"}, 403, "role_insufficient"},
		{tokens["operator"].Token, "POST", "/api/v1/tenants", newTenant, 201, ""},
	} {
		if a := w.Do(c.token, c.method, c.path, c.body); a.Status != c.status || a.Slug() != c.slug {
			t.Errorf("%s %s: %d %q, want %d %q", c.method, c.path, a.Status, a.Slug(), c.status, c.slug)
		}
	}
	w.Operator("POST", "/api/v1/tokens/"+tokens["viewer"].ID+"/revoke", nil, 200, nil)
	if a := w.Do(tokens["viewer"].Token, "GET", "/api/v1/nodes", nil); a.Slug() != "token_revoked" {
		t.Errorf("a revoked token got %d %s", a.Status, a.Body)
	}
}

// A write repeated under its Idempotency-Key is carried out once and answers the same, without what is shown once; the
// key is worth nothing for another body or another credential.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := contract.NewPairingCode{Role: "owner"}
	post := func(body any) harness.Answer {
		return w.Do(w.Token, "POST", "/api/v1/tenants/acme/pairing-codes", body, contract.HeaderIdempotencyKey, "k-1")
	}
	first, again := post(body), post(body)
	var a, b contract.PairingCode
	harness.Decode(t, first, 201, &a)
	harness.Decode(t, again, 201, &b)
	if a.Code == "" || b.Code != "" || !a.ExpiresAt.Equal(b.ExpiresAt) || again.Header.Get(contract.HeaderReplayed) != "true" {
		t.Fatalf("first %s, again %s", first.Body, again.Body)
	}
	if c := post(contract.NewPairingCode{Role: "member"}); c.Slug() != "idempotency_key_reused" {
		t.Fatalf("another body: %d %s", c.Status, c.Body)
	}
	var racing sync.WaitGroup
	made := make(chan int, 16)
	for range 16 {
		racing.Go(func() {
			made <- w.Do(w.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: "once", HomeRegion: "eu"},
				contract.HeaderIdempotencyKey, "k-2").Status
		})
	}
	racing.Wait()
	close(made)
	for status := range made {
		if status != 201 && status != 409 {
			t.Errorf("a racing repeat got %d", status)
		}
	}
	late := w.Do(w.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: "once", HomeRegion: "eu"}, contract.HeaderIdempotencyKey, "k-2")
	if late.Status != 201 || late.Header.Get(contract.HeaderReplayed) != "true" {
		t.Errorf("a late repeat got %d %s", late.Status, late.Body)
	}
}

// Lists are complete and without repeats by their cursors, whatever the page size.
func TestCursors(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 12 {
		w.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: fmt.Sprintf("t%02d", i), HomeRegion: "eu"}, 201, nil)
	}
	for _, limit := range []int{1, 5, 13, 500} {
		var ids []string
		cursor := ""
		for {
			var page contract.Tenants
			w.Operator("GET", fmt.Sprintf("/api/v1/tenants?limit=%d&cursor=%s", limit, cursor), nil, 200, &page)
			for _, t := range page.Tenants {
				ids = append(ids, t.ID)
			}
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		if len(ids) != 13 || ids[0] != "acme" || ids[12] != "t11" {
			t.Fatalf("by %d: %v", limit, ids)
		}
	}
	w.Refused("GET", "/api/v1/tenants?cursor=*", nil, 422, "invalid_cursor")
}

// What did not change is not sent again.
func TestETags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.Do(w.Token, "GET", "/api/v1/tenants/acme", nil)
	tag := first.Header.Get("ETag")
	if a := w.Do(w.Token, "GET", "/api/v1/tenants/acme", nil, "If-None-Match", tag); a.Status != http.StatusNotModified || tag == "" {
		t.Fatalf("with %q: %d", tag, a.Status)
	}
	w.Operator("POST", "/api/v1/tenants/acme/suspend", nil, 200, nil)
	if a := w.Do(w.Token, "GET", "/api/v1/tenants/acme", nil, "If-None-Match", tag); a.Status != 200 {
		t.Fatalf("after a change: %d", a.Status)
	}
	n := w.holder()
	a := n.Do("GET", "/nodes/"+n.ID+"/assignments", nil)
	if b := n.Do("GET", "/nodes/"+n.ID+"/assignments", nil, "If-None-Match", a.Header.Get("ETag")); b.Status != http.StatusNotModified {
		t.Fatalf("assignments that did not change: %d", b.Status)
	}
}

// The OpenAPI document is 3.1, and each operation of the contract is in it.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]any
	}
	a := w.Do(w.Token, "GET", "/api/v1/openapi.json", nil)
	if err := json.Unmarshal(a.Body, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Fatalf("%v, version %q", err, doc.OpenAPI)
	}
	for _, p := range []string{"/api/v1/tenants/{tenant}/migrations", "/api/v1/nodes/{node}/drain", "/api/v1/audit/verify"} {
		if doc.Paths[p] == nil {
			t.Errorf("%s is not described", p)
		}
	}
}
