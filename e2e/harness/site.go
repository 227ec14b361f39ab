package harness

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/identity"
	"berth/e2e/lab"
)

// TrustDomain is that of every server here.
const TrustDomain = "berth.test"

// Site is a deployment with nodes: two replicas in containers on one Postgres database, an ingress before them, and nodes
// that enrol. A tap stands before each listener that nodes or ingress use, so that a test can hold up, count and lose
// what passes.
type Site struct {
	*Plan
	Database *lab.PostgresServer
	Replicas []*Server
	Upstream []*Tap // between the ingress and the internal listener of each replica
	Enroll   *Tap   // before the enrolment listener of the first replica
	Ingress  *Ingress
	CAFile   string // that nodes know servers by

	operators []apiclient.Operator
	public    *apiclient.Client
	behind    []*atomic.Pointer[Server] // each tap; nil while there is none
}

// at is where a replica's port is just now.
func at(replica *atomic.Pointer[Server], port int) func() string {
	return func() string {
		r := replica.Load()
		if r == nil {
			return "127.0.0.1:1" // nobody listens there
		}
		return r.process.(*contained).container.Address(port)
	}
}

// NewSite starts a deployment, with further settings for berthd; the test's end stops it.
func NewSite(tb testing.TB, settings ...string) *Site {
	tb.Helper()
	database := lab.Shared(tb)
	p := NewPlan(tb, database.InsideDSN(), append(quick(), settings...)...)
	s := &Site{Plan: p, Database: database, Replicas: p.Start(2)}
	for _, r := range s.Replicas {
		s.operators = append(s.operators, s.operator(r))
		behind := &atomic.Pointer[Server]{}
		behind.Store(r)
		s.behind = append(s.behind, behind)
		s.Upstream = append(s.Upstream, newTap(tb, p.server, at(behind, internalPort), p.server.trusting(InternalHost, p.ingress.cert)))
	}
	s.openPublic()
	s.Enroll = newTap(tb, p.server, at(s.behind[0], enrollPort), p.server.trusting(ServerName))
	s.CAFile = filepath.Join(s.temp(), "ca.pem")
	must(tb, os.WriteFile(s.CAFile, []byte(p.server.pem.chain), 0o600))
	s.Ingress = s.newIngress()
	s.Ingress.Start()
	return s
}

// quick are times that a test can wait for: leases of three seconds, which are counted for five.
func quick() []string {
	return []string{"BERTH_LEASE_DURATION=3s", "BERTH_LEASE_MARGIN=1s", "BERTH_LEASE_DRIFT_PERCENT=10", "BERTH_ENROLL_LISTEN=0.0.0.0:8442"}
}

// Lease is how long a beat lets a node of a site write.
const Lease = 3 * time.Second

// Counted is how long the control plane counts such a lease: with its margin, and a tenth for clocks that run apart.
const Counted = Lease + Lease/10 + time.Second

// temp is a directory with a short path, which goes with the test.
func (p *Plan) temp() string {
	p.tb.Helper()
	dir, err := os.MkdirTemp("", "berth-")
	must(p.tb, err)
	p.tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func (s *Site) operator(r *Server) apiclient.Operator {
	s.tb.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(s.server.leaf)
	c, err := apiclient.New(apiclient.Options{Base: r.API, CA: pool, Proof: apiclient.Bearer(r.Token)})
	must(s.tb, err)
	s.tb.Cleanup(c.Close)
	return apiclient.NewOperator(c)
}

// Operator is an admin at the first replica.
func (s *Site) Operator() apiclient.Operator { return s.operators[0] }

// OperatorAt is an admin at a replica.
func (s *Site) OperatorAt(i int) apiclient.Operator { return s.operators[i] }

// Shift starts both replicas and the ingress anew with their wall clocks ahead by so much, as if that time had passed. It
// takes about as long as a restart of them.
func (s *Site) Shift(offset time.Duration) {
	s.tb.Helper()
	var up sync.WaitGroup
	for i, old := range s.Replicas {
		old.Kill()
		s.behind[i].Store(nil)
		s.Upstream[i].Sever()
		next := s.Server("BERTH_CLOCK_OFFSET=" + offset.String())
		next.Token = old.Token
		s.Replicas[i] = next
		up.Go(func() {
			next.process.start()
			s.behind[i].Store(next)
		})
	}
	s.Ingress.Kill()
	s.Ingress.Extra["CLOCK_OFFSET"] = offset.String()
	up.Wait()
	s.Ingress.Start()
	for i, r := range s.Replicas {
		r.Eventually("berthd is ready", r.Ready)
		s.operators[i] = s.operator(r)
	}
	s.openPublic()
}

// LoseCA takes away from every replica the keys that it signs by, the CA's among them; the function returned gives them
// back.
func (s *Site) LoseCA() (back func()) {
	s.tb.Helper()
	keys := filepath.Join(s.dir, "keys")
	must(s.tb, os.Chmod(keys, 0))
	return func() { s.tb.Helper(); must(s.tb, os.Chmod(keys, 0o700)) }
}

// RotateIngressSecret makes a new secret for the assertions: replicas take both before the ingress signs by the new one,
// and the old one is retired after that. The ingress has changed over when it has signed something by it.
func (s *Site) RotateIngressSecret() {
	s.tb.Helper()
	next := identity.IngressSecret{ID: s.secret.ID + "n", Key: random(32)}
	signed := make(chan struct{})
	var once sync.Once
	for _, tap := range s.Upstream {
		defer tap.On(func(r *http.Request, _ []byte) bool {
			if Asserted(r, "sid") == next.ID {
				once.Do(func() { close(signed) })
			}
			return false
		}, nil)()
	}
	backend := s.Replicas[0]
	backend.WriteSecrets(s.secret, next)
	s.reload()
	s.Ingress.write("secrets.json", secretsFile(nil, next, s.secret))
	s.Ingress.signal(hangUp)
	select {
	case <-signed:
	case <-time.After(30 * time.Second):
		s.tb.Fatalf("the ingress does not sign by its new secret; it said:\n%s", s.Ingress.Output())
	}
	s.Ingress.write("secrets.json", secretsFile([]string{s.secret.ID}, next))
	s.Ingress.signal(hangUp)
	backend.RetireSecrets([]string{s.secret.ID}, next)
	s.reload()
	s.secret = next
}

// Asserted is what the ingress asserts of a request: spiffe, sid and the like; empty where it asserts nothing.
func Asserted(r *http.Request, field string) string {
	parts := strings.Split(r.Header.Get(contract.HeaderAssertion), ".")
	if len(parts) != 3 {
		return ""
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return ""
	}
	var fields map[string]any
	if json.Unmarshal(payload, &fields) != nil {
		return ""
	}
	text, _ := fields[field].(string)
	return text
}

func (s *Site) reload() {
	for _, r := range s.Replicas {
		r.Reload()
	}
}

// Node is a node as an operator sees it.
func (s *Site) Node(id string) contract.Node {
	s.tb.Helper()
	n, err := s.Operator().Node(s.tb.Context(), id)
	must(s.tb, err)
	return n
}

// Credentials are those of a node by fingerprint.
func (s *Site) Credentials(id string) map[string]contract.Credential {
	s.tb.Helper()
	list, err := s.Operator().Credentials(s.tb.Context(), id)
	must(s.tb, err)
	by := map[string]contract.Credential{}
	for _, c := range list.Credentials {
		by[c.Fingerprint] = c
	}
	return by
}

// In is the site as another test uses it, at the same time as others or after them.
func (s *Site) In(tb testing.TB) *Site {
	other, plan := *s, *s.Plan
	other.Plan = &plan
	plan.tb = tb
	other.Replicas = nil
	for _, r := range s.Replicas {
		same := *r
		same.t = tb
		other.Replicas = append(other.Replicas, &same)
	}
	return &other
}

// NewRegion makes a region.
func (s *Site) NewRegion(id string) {
	s.tb.Helper()
	_, err := s.Operator().CreateRegion(s.tb.Context(), contract.NewRegion{ID: id, Origin: "https://" + id + ".berth.test"})
	must(s.tb, err)
}

// Tenant is a tenant as an operator sees it.
func (s *Site) Tenant(id string) contract.Tenant {
	s.tb.Helper()
	t, err := s.Operator().Tenant(s.tb.Context(), id)
	must(s.tb, err)
	return t
}

// NewTenant makes a tenant in a region and waits until it is placed.
func (s *Site) NewTenant(id, region string) contract.Tenant {
	s.tb.Helper()
	t, err := s.Operator().CreateTenant(s.tb.Context(), contract.NewTenant{ID: id, HomeRegion: region})
	must(s.tb, err)
	s.Replicas[0].Eventually("the tenant is placed", func() bool {
		t = s.Tenant(id)
		return t.Placement != nil
	})
	return t
}

// Output is what all of the site's own programs printed so far.
func (s *Site) Output() string {
	var all strings.Builder
	for _, r := range s.Replicas {
		all.WriteString(r.Output())
	}
	all.WriteString(s.Ingress.Output())
	return all.String()
}
