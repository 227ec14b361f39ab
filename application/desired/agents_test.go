package desired_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"berth/application/desired"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
	"berth/ports/tokens"
	"berth/ports/tokens/tokenstest"
)

// With its enrolment an agent gets every secret that waited, sealed to its own key; what was wrapped here is no more (D3).
func TestEnrolmentSealsWhatWaited(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	before := w.selected(choice("db", "", "password", "s3cret"), choice("blog", ""))
	a := w.enroll(1)
	if a.install != install || a.minimum != before.Head.Revision+1 {
		t.Fatalf("%+v", a)
	}
	a.follow()
	if got := a.opened("db", "password"); got != "s3cret" {
		t.Fatal(got)
	}
	w.view(func(ctx context.Context, r *store.Roles) error {
		values, err := r.SecretValues.OfInstall(ctx, install)
		w.must(err)
		for _, v := range values {
			if v.Custody != delivery.CustodyAgent || v.Recipient != a.seal.Recipient() {
				t.Errorf("%s is in custody of %s", v.Parameter, v.Custody)
			}
			if _, err := w.wrap.Unwrap(w.ctx, desired.Binding(install, "db", v.Parameter), v.Text); err == nil {
				t.Error("the control plane can still open it")
			}
		}
		return nil
	})
	if got := w.audits(install); !strings.Contains(got, "agent.enrolled by "+a.id) || strings.Contains(got, "s3cret") {
		t.Fatal(got)
	}
}

// An agent whose answer was lost asks again by the same key and is the same agent; nobody else can use the token, and a
// second agent needs an operator (G1).
func TestASecondEnrolmentNeedsAnOperator(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", ""))
	first, second := w.packageToken(), w.packageToken()
	a, b := w.stranger(1), w.stranger(2)
	one, err := a.ask(first)
	w.must(err)
	repeated, err := a.ask(first)
	w.must(err)
	if repeated.AgentID != one.AgentID || repeated.MinimumRevision != one.MinimumRevision || len(repeated.TrustAnchors) != 2 {
		t.Fatalf("%+v\n%+v", one, repeated)
	}
	_, err = b.ask(first)
	w.refused(err, fault.Unauthenticated, "enrolment_token_used")
	_, err = b.ask(second)
	w.refused(err, fault.Conflict, "already_enrolled")

	w.must(w.ResetEnrolment(w.ctx, desired.ResetEnrolmentRequest{Actor: alice, Install: install}))
	a.id, a.install = one.AgentID, one.InstallID
	_, err = a.poll(w.Desired)
	w.refused(err, fault.Unauthenticated, "agent_token_signature")
	_, err = a.ask(first) // whose key may be the reason for the reset
	w.refused(err, fault.Unauthenticated, "enrolment_token_used")
	two, err := b.ask(second)
	w.must(err)
	if two.AgentID == one.AgentID {
		t.Fatal("it is the same agent")
	}
}

// Of many that come with one token at once, one is enrolled.
func TestOneTokenEnrolsOneKey(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "", "password", "s3cret"))
	token := w.packageToken()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { _, errs[i] = w.stranger(byte(i + 1)).ask(token) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch fault.SlugOf(err) {
		case "enrolment_token_used", "already_enrolled":
		default:
			w.must(err)
			won++
		}
	}
	if won != 1 {
		t.Fatalf("%d are enrolled", won)
	}
}

func TestWhatEnrolmentsAreRefusedFor(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	token := w.packageToken()
	a := w.stranger(1)
	request := func(token, key string, bend func(*delivery.Enrolment)) error {
		in := desired.EnrollRequest{Token: token, LicenseKey: key, Enrolment: a.enrolment()}
		if bend != nil {
			bend(&in.Enrolment)
		}
		_, err := w.Enroll(w.ctx, in)
		return err
	}
	w.refused(request("nothing", licenseKey, nil), fault.Invalid, "enrolment_token_malformed")
	w.refused(request("be_"+strings.Repeat("a", 32), licenseKey, nil), fault.Unauthenticated, "enrolment_token_unknown")
	w.refused(request(token, licenseKey+"x", nil), fault.Unauthenticated, "credentials_unknown")
	w.refused(request(token, licenseKey, func(e *delivery.Enrolment) { e.SealKeySignature[0]++ }), fault.Invalid, "seal_key_unproven")
	w.refused(request(token, licenseKey, func(e *delivery.Enrolment) { e.Platforms = nil }), fault.Invalid, "platform_invalid")
	w.clock.Advance(8 * day)
	w.refused(request(token, licenseKey, nil), fault.Unauthenticated, "enrolment_token_expired")
	if _, err := w.Agent(w.ctx, install); fault.SlugOf(err) != "agent_not_found" {
		t.Fatal(err)
	}
}

// Once there is an agent, nobody but it may read a secret: the API takes it sealed only (D3).
func TestSecretsComeSealedOnceThereIsAnAgent(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "", "password", "old"))
	set := func(a *agent, clear string, sealed string) error {
		in := desired.SetParametersRequest{Actor: alice, Install: install, App: "db"}
		if clear != "" {
			in.Parameters = map[string]string{"password": clear}
		}
		if sealed != "" {
			in.Sealed = map[string][]byte{"password": a.sealed("db", "password", sealed)}
		}
		_, err := w.SetParameters(w.ctx, in)
		return err
	}
	stranger := w.stranger(9)
	w.refused(set(stranger, "", "new"), fault.Conflict, "agent_not_enrolled")
	a := w.enroll(1)
	w.refused(set(a, "new", ""), fault.Conflict, "secret_must_be_sealed")
	w.must(set(a, "", "new"))
	a.follow()
	if got := a.opened("db", "password"); got != "new" {
		t.Fatal(got)
	}
	since := a.state.Apps[0]
	w.must(set(a, "", "newer"))
	a.follow()
	if a.state.Apps[0].Seals[0].SHA256 == since.Seals[0].SHA256 || a.opened("db", "password") != "newer" {
		t.Fatal("the agent is not told of the newer secret")
	}
}

// A token is good for its own request, key and deployment, and its agent only while it is enrolled.
func TestAgentsAreAuthenticated(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	a := w.enroll(1)
	request := tokenstest.Request("POST", "/agent/v1/reports", []byte("{}"))
	said := tokens.AgentToken{Agent: a.id, Install: install, Instance: "p", IssuedAt: w.clock.Now()}
	_, err := w.AuthenticateAgent(w.ctx, a.key.Token(said, request), request)
	w.must(err)
	other := tokenstest.Request("POST", "/agent/v1/reports", []byte("[]"))
	_, err = w.AuthenticateAgent(w.ctx, a.key.Token(said, request), other)
	w.refused(err, fault.Unauthenticated, "agent_token_request")
	_, err = w.AuthenticateAgent(w.ctx, w.stranger(2).key.Token(said, request), request)
	w.refused(err, fault.Unauthenticated, "agent_token_signature")
	said.Agent = "agt_0"
	_, err = w.AuthenticateAgent(w.ctx, a.key.Token(said, request), request)
	w.refused(err, fault.Unauthenticated, "agent_token_signature")
}

// Two processes that use one key by turns are written down (G1); a restart is not taken for that.
func TestInterleavedProcessesAreWrittenDown(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	a := w.enroll(1)
	for _, instance := range []string{"p1", "p1", "p2"} {
		a.instance = instance
		a.follow()
	}
	if got := w.lastAudit(install); !strings.HasPrefix(got, "agent.process_changed") {
		t.Fatal(got)
	}
	a.instance = "p1"
	a.follow()
	if got := w.lastAudit(install); !strings.HasPrefix(got, "agent.interleaved by "+a.id) {
		t.Fatal(got)
	}
	view, err := w.Agent(w.ctx, install)
	w.must(err)
	if view.Agent.Interleaved != 1 {
		t.Fatalf("%+v", view.Agent)
	}
}

// An agent reads what its own desired states name, and nothing else, whether it is there or not.
func TestObjectsAreReadByWhoWasToldOfThem(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", ""))
	a := w.enroll(1)
	a.follow()
	caller, err := a.caller(w.Desired)
	w.must(err)
	content, err := w.Object(w.ctx, caller, a.state.Apps[0].Manifests.SHA256)
	w.must(err)
	if delivery.Digest(content) != a.state.Apps[0].Manifests.SHA256 {
		t.Fatal("another object")
	}
	secret := []byte("of somebody else")
	w.do(func(ctx context.Context, r *store.Roles) error { return r.Objects.Put(ctx, secret) })
	_, err = w.Object(w.ctx, caller, delivery.Digest(secret))
	w.refused(err, fault.NotFound, "object_not_found")
	_, err = w.Object(w.ctx, caller, delivery.Digest([]byte("nothing")))
	w.refused(err, fault.NotFound, "object_not_found")
}

// A package holds what a first install needs, signed file by file, works once, and ends.
func TestPackages(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	w.selected(choice("db", "", "password", "s3cret"), choice("blog", ""))
	p, err := w.CreatePackage(w.ctx, desired.CreatePackageRequest{Actor: alice, Install: install})
	w.must(err)
	_, link, _ := strings.Cut(p.DownloadURL, "/packages/v1/")
	_, content, err := w.FetchPackage(w.ctx, link, "192.0.2.1")
	w.must(err)
	if delivery.Digest(content) != p.Content.SHA256 {
		t.Fatal("another file than was named")
	}
	_, _, err = w.FetchPackage(w.ctx, link, "192.0.2.2")
	w.refused(err, fault.Gone, "package_fetched")
	_, _, err = w.FetchPackage(w.ctx, "bp_"+strings.Repeat("a", 32), "")
	w.refused(err, fault.NotFound, "package_not_found")

	unpacked, err := w.Archiver.Read(content)
	w.must(err)
	files := map[string][]byte{}
	for _, f := range unpacked {
		files[f.Name] = f.Content
		if strings.Contains(string(f.Content), "s3cret") || strings.Contains(string(f.Content), licenseKey) {
			t.Errorf("%s tells a secret", f.Name)
		}
	}
	keys := tokens.KeySet{"key-package": {PublicKey: w.public["key-package"], VerifyUntil: noon.Add(day)}}
	seal, _, err := tokenstest.Documents{}.VerifyDocument(string(files["manifest.jws"]), tokens.PackageType, keys, noon)
	w.must(err)
	m, err := delivery.ReadPackage(files, seal)
	w.must(err)
	if m.InstallID != install || m.Revision != 1 || len(m.Files) != len(files)-2 {
		t.Fatalf("%+v", m)
	}
	for name := range files {
		bent := map[string][]byte{}
		for n, c := range files {
			bent[n] = append([]byte(nil), c...)
		}
		bent[name] = append(bent[name], '!')
		if _, err := delivery.ReadPackage(bent, seal); name != "manifest.jws" && fault.SlugOf(err) != "package_invalid" {
			t.Errorf("%s was changed: %v", name, err)
		}
		delete(bent, name)
		if _, err := delivery.ReadPackage(bent, seal); name != "manifest.jws" && fault.SlugOf(err) != "package_invalid" {
			t.Errorf("%s is missing: %v", name, err)
		}
	}
	files["more"] = nil
	if _, err := delivery.ReadPackage(files, seal); fault.SlugOf(err) != "package_invalid" {
		t.Error(err)
	}

	late, err := w.CreatePackage(w.ctx, desired.CreatePackageRequest{Actor: alice, Install: install})
	w.must(err)
	w.clock.Advance(2 * day)
	_, link, _ = strings.Cut(late.DownloadURL, "/packages/v1/")
	_, _, err = w.FetchPackage(w.ctx, link, "")
	w.refused(err, fault.Gone, "package_expired")
	_, err = w.CreatePackage(w.ctx, desired.CreatePackageRequest{Actor: alice, Install: install, WithImages: true})
	w.refused(err, fault.Invalid, "package_images_unsupported")
}

// Keys that others may have are no anchors, and proofs by them are none.
func TestCompromisedKeysAreNoAnchors(t *testing.T) {
	t.Parallel()
	w := stocked(t)
	a := w.enroll(1)
	a.follow()
	w.do(func(ctx context.Context, r *store.Roles) error {
		key, err := r.Keys.Get(ctx, "key-desired")
		w.must(err)
		record := key.Record()
		record.State, record.EndedAt = identity.KeyCompromised, w.clock.Now()
		return r.Keys.Save(ctx, identity.RestoreSigningKey(record))
	})
	caller, err := a.caller(w.Desired)
	w.must(err)
	w.refused(w.Prove(w.ctx, desired.ProveRequest{Caller: caller, DesiredState: a.token}), fault.Unauthenticated, "document_key_unknown")
	_, err = w.Publish(w.ctx, putting("x", "db", "1.0.0"))
	if fault.KindOf(err) != fault.Unavailable {
		t.Fatal(err)
	}
}
