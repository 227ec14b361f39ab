package apiclient_test

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/authorization"
	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/authority"
)

// stub is a control plane over TLS that asks for a certificate and answers what it is told to.
type stub struct {
	*httptest.Server

	mu      sync.Mutex
	answers map[string]string // by method and path
	bodies  map[string]string
	shown   []string // serial numbers of clients' certificates, one for each connection
}

func newStub(tb testing.TB) (*stub, *apiclient.Authority, *atomic.Int64) {
	tb.Helper()
	s := &stub{answers: map[string]string{}, bodies: map[string]string{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		at := r.Method + " " + r.URL.Path
		if page := r.URL.Query().Get("cursor"); page != "" {
			at += "?" + page
		}
		s.bodies[at] = string(body)
		text, ok := s.answers[at]
		s.mu.Unlock()
		status, kind := 200, "application/json"
		if !ok {
			status, kind, text = 404, contract.ProblemType, `{"type":"urn:berth:problem:not_found"}`
		}
		answer(status, kind, text)(w, r)
	}))
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, VerifyConnection: func(c tls.ConnectionState) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range c.PeerCertificates {
			s.shown = append(s.shown, p.SerialNumber.String())
		}
		return nil
	}}
	s.Config.ErrorLog = nil
	s.StartTLS()
	tb.Cleanup(s.Close)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	serial := &atomic.Int64{}
	serial.Store(1)
	a, err := apiclient.NewAuthority(apiclient.AuthorityOptions{
		Node: "n1", Enroll: apiclient.Options{Base: s.URL, CA: pool},
		Control: apiclient.Options{Base: s.URL, CA: pool, Certificate: func() (*tls.Certificate, error) { return selfSigned(serial.Load()) }},
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(a.Close)
	return s, a, serial
}

func selfSigned(serial int64) (*tls.Certificate, error) {
	if serial == 0 {
		return nil, errors.New("none yet")
	}
	key := ed25519.NewKeyFromSeed(make([]byte, 32))
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (s *stub) says(at string, v any) {
	text, ok := v.(string)
	if !ok {
		b, _ := json.Marshal(v)
		text = string(b)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[at] = text
}

func (s *stub) body(at string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[at]
}

const own = "/internal/v1/nodes/n1"

// What a node asks and is told crosses the wire without loss, in the messages of the contract.
func TestAuthorityOverTheWire(t *testing.T) {
	t.Parallel()
	s, a, _ := newStub(t)
	ctx := t.Context()
	s.says("POST "+own+"/register", contract.Registered{Generation: 7})
	if g, err := a.Register(ctx, placement.Registration{BootID: "b", StorageID: "s"}); err != nil || g != 7 {
		t.Fatalf("registered as %d, %v", g, err)
	}
	s.says("POST "+own+"/heartbeat", contract.Lease{LeaseMS: 15000, LeaseEpoch: 3, Status: "active", Schedulable: true, AssignmentsVersion: 9})
	lease, err := a.Beat(ctx, authority.Beat{Generation: 7, Sequence: 8, Capacity: &placement.Capacity{Tenants: 5}})
	if err != nil || lease.For != 15*time.Second || lease.Epoch != 3 || !lease.Schedulable || lease.Assignments != 9 {
		t.Fatalf("leased %+v, %v", lease, err)
	}
	if got := s.body("POST " + own + "/heartbeat"); got != `{"generation":7,"sequence":8,"capacity":{"tenants":5,"bytes":0}}` {
		t.Errorf("beat %s", got)
	}
	sequence := int64(4)
	s.says("GET "+own+"/assignments", contract.Assignments{Version: 9, Placements: []contract.Assignment{
		{Tenant: "a", Generation: 2, PlacementVersion: 5, State: "active", Role: "owner"},
		{Tenant: "b", Generation: 1, PlacementVersion: 3, State: "copying", Role: "target", Migration: &contract.AssignedMigration{
			ID: "m", State: "copying", Peer: "n2", ManifestRoot: "r", LastSequence: &sequence,
		}},
	}})
	all, err := a.Assignments(ctx, 0, 0)
	if err != nil || all.Version != 9 || len(all.Placements) != 2 || all.Placements[0].Role != placement.RoleOwner ||
		*all.Placements[1].Migration != (placement.AssignedMigration{ID: "m", Phase: placement.PhaseCopying, Peer: "n2", ManifestRoot: "r", LastSequence: 4}) {
		t.Fatalf("assigned %+v, %v", all, err)
	}
	s.says("POST "+own+"/authorization/poll", `{"tenants":[{"tenant":"a","result":"delta","generation":2,"delta":{"from":1,"to":3,"generation":2,"placement_version":5,
		"changes":[{"revision":2,"status":"suspended"},{"revision":3,"principal":{"id":"p","kind":"phone","role":"owner","status":"revoked"}},
		{"revision":3,"handle":{"sha256":"`+strings.Repeat("ab", 32)+`","principal":"p","route":"main","status":"revoked"}}]}},
		{"tenant":"b","result":"snapshot_needed","generation":4},{"tenant":"c","result":"not_found"},{"tenant":"d","result":"something new"}]}`)
	differing, err := a.Poll(ctx, []authority.Known{{Tenant: "a", Generation: 2, Revision: 1}}, 0)
	if err != nil || len(differing) != 4 || differing[1].Result != authority.NeedsSnapshot || differing[2].Result != authority.NotFound || differing[3].Result != authority.NeedsSnapshot {
		t.Fatalf("polled %+v, %v", differing, err)
	}
	d := differing[0].Delta
	if c := d.Changes; len(c) != 3 || c[0].Kind != authorization.ChangeStatus || c[1].Part != 1 || c[1].Parts != 2 || c[2].Part != 2 || c[2].Handle.SHA256[0] != 0xab {
		t.Fatalf("the delta is %+v", d)
	}
	s.says("POST /internal/v1/migrations/m/quiesced", "{}")
	if err := a.Quiesced(ctx, "m", 2, placement.Manifest{Root: "r", LastSequence: 4}); err != nil || s.body("POST /internal/v1/migrations/m/quiesced") != `{"generation":2,"last_sequence":4,"manifest_root":"r"}` {
		t.Fatalf("reported %s, %v", s.body("POST /internal/v1/migrations/m/quiesced"), err)
	}
	if err := a.Drained(ctx, "other", 2); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("a report that is not wanted ends with %v", err)
	}
}

// What is out of form is no answer: nothing a node acts on is guessed.
func TestAuthorityGuessesNothing(t *testing.T) {
	t.Parallel()
	s, a, _ := newStub(t)
	calls := map[string]func(context.Context) error{
		own + "/register":  func(ctx context.Context) error { _, err := a.Register(ctx, placement.Registration{}); return err },
		own + "/heartbeat": func(ctx context.Context) error { _, err := a.Beat(ctx, authority.Beat{}); return err },
		own + "/assignments": func(ctx context.Context) error {
			_, err := a.Assignments(ctx, 0, 0)
			return err
		},
		"/internal/v1/tenants/a/authorization": func(ctx context.Context) error { _, err := a.Snapshot(ctx, "a", 1); return err },
		own + "/authorization/poll":            func(ctx context.Context) error { _, err := a.Poll(ctx, nil, 0); return err },
		own + "/credentials":                   func(ctx context.Context) error { _, err := a.Rotate(ctx, nil); return err },
		"/enroll/v1/nodes":                     func(ctx context.Context) error { _, err := a.Enroll(ctx, "t", nil); return err },
	}
	for path, answers := range map[string][]string{
		own + "/register":  {`{}`, `{"generation":0}`, `[]`, ``},
		own + "/heartbeat": {`{}`, `{"lease_ms":0,"lease_epoch":1}`, `{"lease_ms":-1,"lease_epoch":1}`, `{"lease_ms":600001,"lease_epoch":1}`, `{"lease_ms":1,"lease_epoch":0}`},
		own + "/assignments": {
			`{"version":1,"placements":[{"tenant":"a"}]}`, `{"version":1,"placements":[{"tenant":"a","generation":1,"placement_version":1,"state":"Active","role":"owner"}]}`,
			`{"version":1,"placements":[{"tenant":"a","generation":1,"placement_version":1,"state":"active","role":"source"}]}`,
			`{"version":1,"placements":[{"tenant":"a","generation":1,"placement_version":1,"state":"active","role":"source","migration":{"id":"m","state":"done"}}]}`,
		},
		"/internal/v1/tenants/a/authorization": {
			`{}`, `{"tenant":"a","generation":1,"placement_version":1,"revision":1,"state":"active","status":"open"}`,
			`{"tenant":"a","generation":1,"placement_version":1,"revision":1,"state":"active","status":"active","principals":[{"id":"p","kind":"phone","role":"admin","status":"active"}]}`,
			`{"tenant":"a","generation":1,"placement_version":1,"revision":1,"state":"active","status":"active","handles":[{"sha256":"ab","status":"active"}]}`,
		},
		own + "/authorization/poll": {`{"tenants":[{"tenant":"a","result":"delta"}]}`, `{"tenants":[{"tenant":"a","result":"delta","delta":{"changes":[{"revision":1}]}}]}`,
			`{"tenants":[{"tenant":"a","result":"delta","delta":{"changes":[{"revision":1,"status":"active","route":"x"}]}}]}`},
		own + "/credentials": {`{}`, `{"certificate":"garbage"}`},
		"/enroll/v1/nodes":   {`{}`, `{"certificate":""}`},
	} {
		for _, text := range answers {
			for _, method := range []string{"GET ", "POST "} {
				s.says(method+path, text)
			}
			if err := calls[path](t.Context()); fault.SlugOf(err) != "unexpected_answer" {
				t.Errorf("%s answers %s: %v", path, text, err)
			}
		}
	}
}

// After Renew no connection is used that showed the earlier certificate; calls, polls and waits share none.
func TestRenewShowsTheNextCertificate(t *testing.T) {
	t.Parallel()
	s, a, serial := newStub(t)
	s.says("POST "+own+"/register", contract.Registered{Generation: 1})
	s.says("POST "+own+"/authorization/poll", contract.Polled{})
	all := func() {
		_, calls := a.Register(t.Context(), placement.Registration{})
		_, polls := a.Poll(t.Context(), nil, 0)
		_, waits := a.Poll(t.Context(), nil, time.Second)
		if err := errors.Join(calls, polls, waits); err != nil {
			t.Fatal(err)
		}
	}
	all()
	all()
	serial.Store(2)
	a.Renew()
	all()
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := strings.Join(s.shown, " "); got != "1 1 1 2 2 2" {
		t.Fatalf("connections showed %s", got)
	}
}

// Without a certificate nothing is sent, and a control plane that is away is Unavailable.
func TestAuthorityAway(t *testing.T) {
	t.Parallel()
	_, a, serial := newStub(t)
	serial.Store(0)
	if _, err := a.Register(t.Context(), placement.Registration{}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("without a certificate: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	away := "https://" + l.Addr().String()
	_ = l.Close()
	gone, err := apiclient.NewAuthority(apiclient.AuthorityOptions{Node: "n1", Control: apiclient.Options{Base: away}, Enroll: apiclient.Options{Base: away}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gone.Beat(t.Context(), authority.Beat{}); fault.SlugOf(err) != "server_unreachable" {
		t.Errorf("away: %v", err)
	}
	if _, err := apiclient.NewAuthority(apiclient.AuthorityOptions{Control: apiclient.Options{Base: "http://far.example"}, Enroll: apiclient.Options{Base: away}}); fault.SlugOf(err) != "invalid_url" {
		t.Errorf("plain text: %v", err)
	}
}
