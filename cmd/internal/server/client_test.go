package server_test

import (
	"context"
	"strings"
	"testing"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/fault"
)

// calls are all that a client can ask for, each with nothing in particular.
func calls(o apiclient.Operator, n apiclient.Node, d apiclient.Device) map[string]func(context.Context) error {
	const id = "x"
	var page apiclient.Page
	all := map[string]func(context.Context) error{
		"node assignments": func(c context.Context) error { _, _, err := n.Assignments(c, 7, 0); return err },
		"node prepared":    func(c context.Context) error { return n.Prepared(c, id, contract.Prepared{}) },
		"node quiesced":    func(c context.Context) error { return n.Quiesced(c, id, contract.Quiesced{Generation: 1}) },
		"node copied":      func(c context.Context) error { return n.Copied(c, id, contract.Copied{}) },
		"node drained":     func(c context.Context) error { return n.Drained(c, id, contract.Drained{Generation: 1}) },
		"node failed":      func(c context.Context) error { return n.Failed(c, id, contract.Failed{Step: "s", Reason: "r"}) },
		"node backup":      func(c context.Context) error { return n.RecordBackup(c, id, contract.NewBackup{Generation: 1}) },
	}
	add := func(name string, do func(context.Context) (any, error)) {
		all[name] = func(c context.Context) error { _, err := do(c); return err }
	}
	add("regions", func(c context.Context) (any, error) { return o.Regions(c, page) })
	add("create region", func(c context.Context) (any, error) { return o.CreateRegion(c, contract.NewRegion{}) })
	add("nodes", func(c context.Context) (any, error) { return o.Nodes(c, "eu", page) })
	add("node", func(c context.Context) (any, error) { return o.Node(c, id) })
	add("create node", func(c context.Context) (any, error) { return o.CreateNode(c, contract.NewNode{}) })
	add("change node", func(c context.Context) (any, error) { return o.ChangeNode(c, id, contract.NodeChange{}) })
	add("drain node", func(c context.Context) (any, error) { return o.DrainNode(c, id) })
	add("activate node", func(c context.Context) (any, error) { return o.ActivateNode(c, id) })
	add("replace storage", func(c context.Context) (any, error) { return o.ReplaceStorage(c, id) })
	add("retire node", func(c context.Context) (any, error) { return o.RetireNode(c, id) })
	add("begin migration", func(c context.Context) (any, error) { return o.BeginMigration(c, id, contract.NewMigration{}) })
	add("migration", func(c context.Context) (any, error) { return o.Migration(c, id, id, 0) })
	add("migrations", func(c context.Context) (any, error) { return o.Migrations(c, id, page) })
	add("abort migration", func(c context.Context) (any, error) { return o.AbortMigration(c, id, id) })
	add("recover", func(c context.Context) (any, error) { return o.Recover(c, id, contract.NewRecover{Generation: 1}) })
	add("placement queue", func(c context.Context) (any, error) { return o.PlacementQueue(c) })
	add("tenants", func(c context.Context) (any, error) { return o.Tenants(c, page) })
	add("tenant", func(c context.Context) (any, error) { return o.Tenant(c, id) })
	add("create tenant", func(c context.Context) (any, error) { return o.CreateTenant(c, contract.NewTenant{}) })
	add("suspend", func(c context.Context) (any, error) { return o.Suspend(c, id) })
	add("resume", func(c context.Context) (any, error) { return o.Resume(c, id) })
	add("pairing code", func(c context.Context) (any, error) { return o.PairingCode(c, id, "owner") })
	add("principals", func(c context.Context) (any, error) { return o.Principals(c, id, page) })
	add("revoke", func(c context.Context) (any, error) { return o.Revoke(c, id, id) })
	add("create route", func(c context.Context) (any, error) { return o.CreateRoute(c, id, id) })
	add("routes", func(c context.Context) (any, error) { return o.Routes(c, id, page) })
	add("admit credential", func(c context.Context) (any, error) { return o.AdmitCredential(c, id, "") })
	add("credentials", func(c context.Context) (any, error) { return o.Credentials(c, id) })
	add("revoke credential", func(c context.Context) (any, error) { return o.RevokeCredential(c, id, strings.Repeat("ab", 32), "r") })
	add("signing keys", func(c context.Context) (any, error) { return o.SigningKeys(c) })
	add("rotate", func(c context.Context) (any, error) { return o.RotateSigningKey(c, contract.RotateKey{Purpose: "ca"}) })
	add("compromise", func(c context.Context) (any, error) { return o.CompromiseSigningKey(c, id, "r") })
	add("join token", func(c context.Context) (any, error) {
		return o.JoinToken(c, id, contract.NewJoinToken{ExpiresIn: "5m"})
	})
	add("trust bundle", func(c context.Context) (any, error) { return o.TrustBundle(c) })
	add("node rotate", func(c context.Context) (any, error) { return n.Rotate(c, contract.Rotate{CSR: "x"}) })
	add("create token", func(c context.Context) (any, error) {
		return o.CreateToken(c, contract.NewToken{Name: "n", Role: "viewer"})
	})
	add("tokens", func(c context.Context) (any, error) { return o.Tokens(c, page) })
	add("revoke token", func(c context.Context) (any, error) { return o.RevokeToken(c, id) })
	add("audit", func(c context.Context) (any, error) { return o.Audit(c, "tenant/x", page) })
	add("verify audit", func(c context.Context) (any, error) { return o.VerifyAudit(c) })
	addLicensing(add, o)
	add("node register", func(c context.Context) (any, error) {
		return n.Register(c, contract.Register{BootID: "b", StorageID: "s"})
	})
	add("node heartbeat", func(c context.Context) (any, error) { return n.Heartbeat(c, contract.Heartbeat{}) })
	add("node snapshot", func(c context.Context) (any, error) { return n.Snapshot(c, id, 1) })
	add("node delta", func(c context.Context) (any, error) { return n.Delta(c, id, 1, 1) })
	add("node poll", func(c context.Context) (any, error) { return n.Poll(c, []contract.Known{}, 0) })
	add("node revoke", func(c context.Context) (any, error) {
		return n.Revoke(c, id, id, contract.NodeRevoke{Generation: 1, AskedBy: id})
	})
	add("node route", func(c context.Context) (any, error) { return n.Route(c, id) })
	add("node peers", func(c context.Context) (any, error) { return n.Peers(c, page) })
	add("node signing keys", func(c context.Context) (any, error) { return n.SigningKeys(c) })
	add("pair", func(c context.Context) (any, error) {
		return d.Pair(c, contract.NewDevice{PairingCode: "x", Name: "n", Kind: "phone"})
	})
	add("device token", func(c context.Context) (any, error) { return d.Token(c, "x") })
	add("connection", func(c context.Context) (any, error) { return d.Connection(c, id) })
	add("keys", func(c context.Context) (any, error) { return d.Keys(c) })
	return all
}

func addLicensing(add func(name string, do func(context.Context) (any, error)), o apiclient.Operator) {
	const id = "x"
	var page apiclient.Page
	valid := contract.NewLicense{
		Customer: id, Environment: "PROD", Enforce: "enforce", Grace: "0s", Quota: contract.Quota{Apps: 1, Replicas: 1, CPU: "1", Memory: "1Gi"},
	}
	add("create customer", func(c context.Context) (any, error) {
		return o.CreateCustomer(c, contract.NewCustomer{ID: "X", Name: "x"})
	})
	add("customer", func(c context.Context) (any, error) { return o.Customer(c, id) })
	add("customers", func(c context.Context) (any, error) { return o.Customers(c, page) })
	add("create license", func(c context.Context) (any, error) { return o.CreateLicense(c, valid) })
	add("license", func(c context.Context) (any, error) { return o.License(c, id) })
	add("licenses", func(c context.Context) (any, error) { return o.Licenses(c, id, page) })
	add("change license", func(c context.Context) (any, error) {
		return o.ChangeLicense(c, id, contract.LicenseChange{Quota: &valid.Quota, Grace: &valid.Grace, Enforce: &valid.Enforce})
	})
	add("rotate license key", func(c context.Context) (any, error) { return o.RotateLicenseKey(c, id) })
	add("suspend license", func(c context.Context) (any, error) { return o.SuspendLicense(c, id) })
	add("resume license", func(c context.Context) (any, error) { return o.ResumeLicense(c, id) })
	add("revoke license", func(c context.Context) (any, error) { return o.RevokeLicense(c, id) })
	add("license apps", func(c context.Context) (any, error) { return o.LicenseApps(c, id) })
	add("put license apps", func(c context.Context) (any, error) {
		return o.SetLicenseApps(c, id, contract.LicenseApps{Apps: []contract.LicenseApp{{App: id, Versions: "^1.0.0"}}})
	})
}

// Whatever a client can ask for the server knows: the path, the method, the parameters and the fields.
func TestClientAndServerAgree(t *testing.T) {
	t.Parallel()
	r := run(t, "BERTH_ENROLL_LISTEN=127.0.0.1:0")
	c, err := apiclient.New(apiclient.Options{Base: r.out.of("api")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	strange := map[string]bool{
		"path_unknown": true, "method_not_allowed": true, "unexpected_answer": true, "unknown_field": true, "wrong_type": true,
		"required_field_missing": true, "internal": true, "server_unreachable": true, "certificate_refused": true, "invalid_request": true, "out_of_range": true,
		"assertion_mac_mismatch": true, "assertion_malformed": true, "assertion_body_mismatch": true, "assertion_target_mismatch": true,
	}
	e := apiclient.NewEnrolment(enrolmentClient(t, r))
	all := calls(r.operator(), r.node("unix:"+r.dir+"/s", "one", "a", nil), apiclient.NewDevice(c))
	all["enroll"] = func(c context.Context) error {
		_, err := e.Enroll(c, contract.Enroll{JoinToken: "x", CSR: "x"})
		return err
	}
	all["enrolment's trust bundle"] = func(c context.Context) error { _, err := e.TrustBundle(c); return err }
	for name, call := range all {
		err := call(t.Context())
		if strange[fault.SlugOf(err)] && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if f, ok := fault.As(err); ok {
			for _, part := range f.Errors {
				if strange[part.Slug] {
					t.Errorf("%s: %v", name, part)
				}
			}
		}
	}
	r.finish()
}

func enrolmentClient(tb testing.TB, r *running) *apiclient.Client {
	tb.Helper()
	c, err := apiclient.New(apiclient.Options{Base: r.out.of("enroll")})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return c
}
