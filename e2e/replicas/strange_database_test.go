package replicas

import (
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
	"berth/e2e/lab"
)

func says(t *testing.T, out string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(out, word) {
			t.Errorf("it does not say %q:\n%s", word, out)
		}
	}
}

// A database that a newer program upgraded is refused at the start, by version and step, unless that program says that
// older ones can work on it; it is left as it is.
func TestDatabaseOfANewerSchema(t *testing.T) {
	t.Parallel()
	pg := lab.Shared(t)
	plan := harness.NewPlan(t, pg.InsideDSN())
	s := plan.Start(1)[0]
	s.Stop()
	const add = `INSERT INTO schema_history (version, name, checksum, applied_at, readable_from)
		SELECT max(version) + 1, 'from_the_future', repeat('0', 64), 1, %FROM% FROM schema_history RETURNING version`
	pg.SQL(strings.ReplaceAll(add, "%FROM%", "1"))
	s.Run()
	s.Stop()
	version := pg.SQL(strings.ReplaceAll(add, "%FROM%", "max(version) + 1"))
	says(t, plan.Server().Refuses(), "schema version "+version, "from_the_future")
	if n := pg.SQL("SELECT max(version) FROM schema_history"); n != version {
		t.Errorf("the database is at version %s now", n)
	}
}

// A database of another product is refused at the start, and nothing is made in it.
func TestDatabaseOfAnotherProduct(t *testing.T) {
	t.Parallel()
	pg := lab.Shared(t)
	pg.SQL("CREATE TABLE orders (id int); CREATE TABLE schema_history (version int)")
	says(t, harness.NewPlan(t, pg.InsideDSN()).Server().Refuses(), "another product")
	if n := pg.SQL("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); n != "2" {
		t.Errorf("there are %s tables now", n)
	}
}

// A role without rights is told so: where it may make no schema the start is refused, where it may not write a write is,
// and reads go on.
func TestDatabaseWithMissingRights(t *testing.T) {
	t.Parallel()
	pg := lab.Shared(t)
	pg.SQL("ALTER SCHEMA public OWNER TO postgres; REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	says(t, harness.NewPlan(t, pg.InsideDSN()).Server().Refuses(), "lacks rights")

	w := newWorld(t)
	w.pg.SQL("REVOKE INSERT ON tenant_placements FROM " + w.pg.DB.User)
	for _, s := range w.both() {
		a := s.Do(s.Token, "POST", "/api/v1/tenants", contract.NewTenant{ID: "x", HomeRegion: "eu"})
		if a.Status != 503 || a.Slug() != "database_rights_missing" {
			t.Errorf("without the right to insert: %d %s", a.Status, a.Body)
		}
		s.Tenant(w.tenant)
	}
	w.pg.SQL("GRANT INSERT ON tenant_placements TO " + w.pg.DB.User)
	w.recovers("rights")
}

// A wrong password ends the start and is never shown, whether it stands in a file or in the URL. One that is changed while
// the replicas run is said to be wrong, and taken without a restart once the file has the new one.
func TestDatabaseWithAWrongPassword(t *testing.T) {
	t.Parallel()
	const wrong = "hunter2-hunter2"
	w := newWorld(t)
	url := strings.Replace(w.pg.InsideDSN(), w.pg.DB.Password, wrong, 1)
	other := harness.NewPlan(t, url)
	hides := func(text string) {
		t.Helper()
		if strings.Contains(text, wrong) || strings.Contains(text, w.pg.DB.Password) {
			t.Errorf("a password is shown:\n%s", text)
		}
	}
	for _, s := range []*harness.Server{other.Server(), other.Server("BERTH_DATABASE_URL="+url, "BERTH_DATABASE_PASSWORD_FILE=")} {
		out := s.Refuses()
		says(t, out, "refuses the login")
		hides(out)
	}
	const next = "another-secret"
	w.pg.SQL("ALTER ROLE " + w.pg.DB.User + " PASSWORD '" + next + "'; " + cutAll)
	for _, s := range w.both() {
		a := s.Do(s.Token, "GET", "/api/v1/tenants/acme", nil)
		if a.Status != 503 || a.Slug() != "database_login_refused" {
			t.Errorf("with the old password: %d %s", a.Status, a.Body)
		}
		hides(string(a.Body) + s.Output())
	}
	w.plan.WritePassword(next)
	w.recovers("password")
}

// The database's clock is asked for nothing: where it is an hour off, leases, assertions, tokens and deadlines are what they
// are elsewhere.
func TestDatabaseWhoseClockIsAnHourOff(t *testing.T) {
	t.Parallel()
	for _, off := range []string{"+1h", "-1h"} {
		t.Run(off, func(t *testing.T) {
			t.Parallel()
			w := worldOn(t, lab.Server(t, lab.Options{ClockOffset: off}), "BERTH_DEADLINE_PREPARE=3s")
			w.rightTimes()
			m := w.one.Begin(w.tenant, w.holder(), w.other()).Through(w.two)
			m.Prepare()
			m.Quiesce()
			m.Copy()
			m.Drain()
			m.Expect("done", "active", m.Target.ID, m.Generation+1)
			begun := time.Now()
			late := w.two.Begin(w.tenant, m.Target, m.Source)
			within(t, 20*time.Second, "the migration fails at its deadline", func() bool { return late.Show().State == "failed" }, nil)
			if took := time.Since(begun); took < 2*time.Second {
				t.Errorf("its deadline of 3 s passed after %s", took)
			}
			w.agree()
		})
	}
}

// rightTimes fails the test where a lease, an instant or a life is not by the replicas' own clock.
func (w *world) rightTimes() {
	w.t.Helper()
	near := func(what string, at, want time.Time) {
		w.t.Helper()
		if off := at.Sub(want).Abs(); off > time.Minute {
			w.t.Errorf("%s is off by %s", what, off)
		}
	}
	for i := range 4 {
		n := w.nodes["a"].Through(w.turn(i))
		near("a beat's answer", n.Beat().ServerTime, time.Now())
	}
	var shown contract.Node
	w.two.Operator("GET", "/api/v1/nodes/a", nil, 200, &shown)
	if shown.Lease.State != "live" {
		w.t.Errorf("a node that beats has the lease %+v", shown.Lease)
	}
	n := w.nodes["b"]
	n.Refused("POST", "/nodes/b/heartbeat", contract.Heartbeat{Generation: n.Generation, Sequence: n.Sequence}, 409, "heartbeat_sequence_stale")
	var token contract.Token
	w.one.Operator("POST", "/api/v1/tokens", contract.NewToken{Name: "t", Role: "viewer"}, 201, &token)
	near("a token's birth", token.CreatedAt, time.Now())
	w.two.Call(token.Token, "GET", "/api/v1/nodes", nil, 200, nil)
	w.two.Pair(w.tenant, "owner", "phone") // by a pairing code that lives for minutes
	var log contract.AuditEntries
	w.one.Operator("GET", "/api/v1/audit?limit=500", nil, 200, &log)
	for _, e := range log.Entries {
		near("audit entry "+e.Action, e.At, time.Now())
	}
}
