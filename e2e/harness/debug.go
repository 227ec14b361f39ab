package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// DebugTenant is what a node says of itself about a tenant.
type DebugTenant struct {
	Tenant     string `json:"tenant"`
	Generation int64  `json:"generation"`
	Write      bool   `json:"may_write"`
	Denied     struct {
		Slug string `json:"slug"`
	} `json:"write_denied"`
	Copy string `json:"copy"`

	Node      string `json:"-"` // whose page it is
	Heartbeat int64  `json:"-"` // the generation of the process
}

// Why is the slug of why the node may not write; empty where it may.
func (d DebugTenant) Why() string { return d.Denied.Slug }

// Debug is the node's debug page, by tenant. The error is of a page that can not be had.
func (r *Relay) Debug(ctx context.Context) (map[string]DebugTenant, error) {
	var page debugPage
	if err := r.page(ctx, "/debug/tenants", &page); err != nil {
		return nil, err
	}
	by := map[string]DebugTenant{}
	for _, t := range page.Tenants {
		t.Node, t.Heartbeat = page.Node.Node, page.Node.Heartbeat
		by[t.Tenant] = t
	}
	return by, nil
}

type debugPage struct {
	Node struct {
		Node      string `json:"node"`
		Heartbeat int64  `json:"heartbeat_generation"`
		Why       struct {
			Slug string `json:"slug"`
		} `json:"why"`
	} `json:"node"`
	Tenants []DebugTenant `json:"tenants"`
}

// Down is the slug of why the node serves nothing at all; empty where it serves.
func (r *Relay) Down() string {
	r.tb.Helper()
	var page debugPage
	must(r.tb, r.page(r.tb.Context(), "/debug/tenants", &page))
	return page.Node.Why.Slug
}

func (r *Relay) page(ctx context.Context, path string, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.Metrics+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	a := send(r.client, req)
	if a.Err != nil {
		return a.Err
	}
	if a.Status != http.StatusOK {
		return fmt.Errorf("%s: %d %s", path, a.Status, a.Body)
	}
	return json.Unmarshal(a.Body, out)
}

// MayWrite says whether the node says that it may write for a tenant.
func (r *Relay) MayWrite(tenant string) bool {
	all, err := r.Debug(r.tb.Context())
	return err == nil && all[tenant].Write
}
