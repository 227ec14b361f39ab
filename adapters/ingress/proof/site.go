package proof

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/netip"
	"time"

	"berth/domain/identity"
)

// Endpoint is where a listener is and how it is spoken to.
type Endpoint struct {
	Network string // tcp or unix
	Address string // host:port, or a socket's path
	Host    string // what requests name; empty is Address
	TLS     bool
	Roots   *x509.CertPool   // who may sign its certificate; nil for the system's
	Own     *tls.Certificate // what the caller shows there by right, such as the ingress' key at the internal listener
}

// Member is a node that was enrolled for the proof.
type Member struct {
	ID          string
	Certificate tls.Certificate
}

// Forge makes what only the holder of an ingress secret can: the assertion of an honest ingress, bent by the caller.
type Forge func(bend func(*identity.Payload)) (header string, err error)

// Site is a deployment, and what the caller holds of it. What is nil can not be tried, and what needs it is not proven.
type Site struct {
	Ingress, Internal, API, Enroll, Metrics *Endpoint

	TrustDomain string
	Region      string
	Token       string // an operator's
	Existing    string // a node that the deployment had before; empty for none

	First, Second Member  // two nodes in force
	Revoked       *Member // enrolled, then revoked
	Superseded    *Member // its next certificate was used since
	Retired       *Member // its node was retired

	// Spare enrolls another node, and gives what revokes its certificate.
	Spare func(context.Context) (Member, func(context.Context) error, error)

	Authority *Authority // a CA that the ingress believes, so that certificates are refused for what they hold
	Forge     Forge      // nil for whoever does not know the ingress secret
	Seen      func() []Reached

	MaxConnectionsPerNode int           // as the ingress is set; 0: unknown
	Patience              time.Duration // how long an answer is waited for; 0 is 10 s
	Slow                  time.Duration // within which one who sends slowly is cut off; 0 is 30 s
	Settling              time.Duration // within which a new node is served; 0 is 1 min
	Quiet                 time.Duration // after which no second answer is awaited; 0 is 200 ms
}

// Reached is a request as the backend received it, where it can be asked.
type Reached struct {
	Target string
	Header map[string][]string
	Body   []byte
}

func (s *Site) endpoint(l Listener) (*Endpoint, error) {
	at := map[Listener]*Endpoint{
		OnIngress: s.Ingress, OnInternal: s.Internal, OnAPI: s.API, OnEnroll: s.Enroll, OnMetrics: s.Metrics,
	}[l]
	if at == nil {
		return nil, cannot("the address of the %s listener was not given", l)
	}
	return at, nil
}

func (s *Site) patience() time.Duration { return or(s.Patience, 10*time.Second) }
func (s *Site) slow() time.Duration     { return or(s.Slow, 30*time.Second) }
func (s *Site) settling() time.Duration { return or(s.Settling, time.Minute) }
func (s *Site) quiet() time.Duration    { return or(s.Quiet, 200*time.Millisecond) }

func or(given, otherwise time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return otherwise
}

// private tells whether what is sent there can be read by nobody on the way: over TLS, or within this machine.
func (e *Endpoint) private() bool {
	host, _, err := net.SplitHostPort(e.Address)
	at, parsed := netip.ParseAddr(host)
	return e.TLS || e.Network == "unix" || err == nil && parsed == nil && at.IsLoopback()
}

func (e *Endpoint) host() string {
	switch {
	case e.Host != "":
		return e.Host
	case e.Network == "unix":
		return "berth.internal"
	}
	return e.Address
}
