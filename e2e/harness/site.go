package harness

import (
	"crypto/x509"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/identity"
	"berth/e2e/lab"
)

// Region is where the nodes of a site are.
const Region = "eu"

// TrustDomain is that of every server here.
const TrustDomain = "berth.test"

// Site is a deployment with nodes: two replicas in containers on one Postgres database, an ingress before them, and nodes
// that enrol. A tap stands before each listener that nodes or ingress use, so that a test can hold up, count and lose
// what passes.
type Site struct {
	*Plan
	Replicas []*Server
	Upstream []*Tap // between the ingress and the internal listener of each replica
	Enroll   *Tap   // before the enrolment listener of the first replica
	Ingress  *Ingress
	CAFile   string // that nodes know servers by

	operators []apiclient.Operator
}

// NewSite starts a deployment, with further settings for berthd; the test's end stops it.
func NewSite(tb testing.TB, settings ...string) *Site {
	tb.Helper()
	p := NewPlan(tb, lab.Shared(tb).InsideDSN(), append(quick(), settings...)...)
	s := &Site{Plan: p, Replicas: p.Start(2)}
	for _, r := range s.Replicas {
		s.operators = append(s.operators, s.operator(r))
		at := func() string { return r.process.(*contained).container.Address(internalPort) }
		s.Upstream = append(s.Upstream, newTap(tb, p.server, at, p.server.trusting(InternalHost, p.ingress.cert)))
	}
	at := func() string { return s.Replicas[0].process.(*contained).container.Address(enrollPort) }
	s.Enroll = newTap(tb, p.server, at, p.server.trusting(ServerName))
	s.CAFile = filepath.Join(s.temp(), "ca.pem")
	must(tb, os.WriteFile(s.CAFile, []byte(p.server.pem.chain), 0o600))
	_, err := s.Operator().CreateRegion(tb.Context(), contract.NewRegion{ID: Region, Origin: "https://eu.berth.test"})
	must(tb, err)
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

// RotateIngressSecret makes a new secret for the assertions: replicas take both before the ingress signs by the new one,
// and the old one is retired after that. Moved is waited for in between: it says that the ingress has changed over.
func (s *Site) RotateIngressSecret(moved func()) {
	s.tb.Helper()
	next := identity.IngressSecret{ID: s.secret.ID + "n", Key: random(32)}
	backend := s.Replicas[0]
	backend.WriteSecrets(s.secret, next)
	s.reload()
	s.Ingress.write("secrets.json", secretsFile(nil, next, s.secret))
	s.Ingress.signal(hangUp)
	moved()
	s.Ingress.write("secrets.json", secretsFile([]string{s.secret.ID}, next))
	s.Ingress.signal(hangUp)
	backend.RetireSecrets([]string{s.secret.ID}, next)
	s.reload()
	s.secret = next
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

// NewTenant makes a tenant and waits until it is placed.
func (s *Site) NewTenant(id string) contract.Tenant {
	s.tb.Helper()
	t, err := s.Operator().CreateTenant(s.tb.Context(), contract.NewTenant{ID: id, HomeRegion: Region})
	must(s.tb, err)
	s.Replicas[0].Eventually("the tenant is placed", func() bool {
		t, err = s.Operator().Tenant(s.tb.Context(), id)
		must(s.tb, err)
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
