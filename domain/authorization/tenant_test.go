package authorization_test

import (
	"testing"
	"time"

	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/ident"
)

type statusStep struct {
	from  authorization.TenantStatus
	event string
}

// statusMachine is the machine as DESIGN describes it, written down apart from the code.
var statusMachine = map[statusStep]authorization.TenantStatus{
	{authorization.TenantActive, "suspend"}:   authorization.TenantSuspended,
	{authorization.TenantSuspended, "resume"}: authorization.TenantActive,
	{authorization.TenantActive, "close"}:     authorization.TenantClosed,
	{authorization.TenantSuspended, "close"}:  authorization.TenantClosed,
}

var statusEvents = map[string]func(*authorization.Tenant, time.Time) ([]authorization.Change, error){
	"suspend": (*authorization.Tenant).Suspend,
	"resume":  (*authorization.Tenant).Resume,
	"close":   (*authorization.Tenant).Close,
}

var statuses = []authorization.TenantStatus{
	authorization.TenantActive, authorization.TenantSuspended, authorization.TenantClosed,
}

// Every state × event: what the machine has leads on and raises the revision by one; all else is refused and changes
// nothing.
func TestStatusMachine(t *testing.T) {
	t.Parallel()
	for _, from := range statuses {
		for event, run := range statusEvents {
			record := authorization.TenantRecord{ID: tenantID, Status: from, Revision: 5, Floor: 2, CreatedAt: dawn, ChangedAt: dawn}
			tenant := authorization.RestoreTenant(record)
			changes, err := run(tenant, dawn.Add(time.Hour))
			to, allowed := statusMachine[statusStep{from, event}]
			if !allowed {
				wantSlug(t, err, fault.Conflict, "tenant_status_conflict")
				if tenant.Record() != record {
					t.Errorf("%s while %s was refused and changed the tenant", event, from)
				}
				continue
			}
			wantNone(t, err)
			record.Status, record.Revision, record.ChangedAt = to, 6, dawn.Add(time.Hour)
			want := authorization.Change{Revision: 6, Part: 1, Parts: 1, Kind: authorization.ChangeStatus, Status: to}
			if tenant.Record() != record || len(changes) != 1 || changes[0] != want {
				t.Errorf("%s while %s gave %+v and %+v", event, from, tenant.Record(), changes)
			}
		}
	}
}

// The diagram that documents show is the machine.
func TestDiagramIsTheMachine(t *testing.T) {
	t.Parallel()
	diagram := authorization.Diagram()
	if len(diagram) != len(statusMachine) {
		t.Fatalf("the diagram has %d arrows, the machine %d", len(diagram), len(statusMachine))
	}
	for _, e := range diagram {
		if to := statusMachine[statusStep{authorization.TenantStatus(e.From), e.Event}]; string(to) != e.To {
			t.Errorf("the diagram leads from %s by %s to %s, the machine to %q", e.From, e.Event, e.To, to)
		}
	}
}

// A tenant starts active at revision 1 with its main route, and no delta leads up to that.
func TestNewTenant(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 7, 0, 0, 123_456_789, time.FixedZone("east", 3600))
	tenant, main, err := authorization.NewTenant("acme", at)
	wantNone(t, err)
	stored := ident.Instant(at)
	want := authorization.TenantRecord{
		ID: "acme", Status: authorization.TenantActive, Revision: 1, Floor: 1, Routes: 1, CreatedAt: stored, ChangedAt: stored,
	}
	if tenant.Record() != want {
		t.Errorf("a new tenant is %+v", tenant.Record())
	}
	if main.Record() != (authorization.RouteRecord{Tenant: "acme", ID: "main", CreatedAt: stored}) {
		t.Errorf("its route is %+v", main.Record())
	}
	_, err = authorization.DeltaSince(tenant, 1, 0, nil)
	wantSlug(t, err, fault.Gone, "delta_unavailable")

	_, _, err = authorization.NewTenant("Acme", at)
	wantSlug(t, err, fault.Invalid, "invalid_id")
}

// A revision that would not survive a JSON number is not made (API.md).
func TestRevisionStopsAtItsBound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.mustAdmit(authorization.Member, 0)
	full := w.tenant.Record()
	full.Revision = ident.MaxCounter
	w.tenant = authorization.RestoreTenant(full)

	attempts := map[string]func() error{
		"suspend": func() error { return w.status(w.tenant.Suspend) },
		"admit":   func() error { _, err := w.admit(authorization.Member, 1); return err },
		"grant":   func() error { return w.grant(p, 1) },
		"route":   func() error { return w.addRoute(authorization.ByOperator("ada")) },
		"revoke":  func() error { _, err := w.revoke(p, authorization.ByOperator("ada")); return err },
	}
	for name, attempt := range attempts {
		err := attempt()
		if fault.SlugOf(err) != "revision_exhausted" || w.tenant.Record() != full || !p.Active() {
			t.Errorf("%s at the last revision: %v", name, err)
		}
	}
}

// Compaction raises the floor only as far as asked, and never lowers it.
func TestCompact(t *testing.T) {
	t.Parallel()
	tenant := authorization.RestoreTenant(authorization.TenantRecord{ID: tenantID, Revision: 100, Floor: 40})
	steps := []struct {
		keep int
		want int64
	}{{1000, 40}, {70, 40}, {50, 50}, {60, 50}, {0, 100}, {-1, 100}}
	for _, s := range steps {
		if got := tenant.Compact(s.keep); got != s.want || tenant.Record().Floor != s.want || tenant.Revision() != 100 {
			t.Errorf("keeping %d gives the floor %d, not %d", s.keep, got, s.want)
		}
	}
}
