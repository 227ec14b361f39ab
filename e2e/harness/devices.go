package harness

import (
	"context"
	"crypto/x509"
	"errors"
	"math/rand/v2"
	"net"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/connectclient"
)

// Phone is a paired device of a site, with the client's half of it.
type Phone struct {
	*connectclient.Device
	Tokens *connectclient.Tokens
	site   *Site
}

// Audience is the API's base URL as devices' assertions must name it, wherever it is reached.
const Audience = "https://localhost:8440"

// NewPhone pairs a device of a tenant.
func (s *Site) NewPhone(tenant, role, kind string) *Phone {
	s.tb.Helper()
	p, err := s.pairPhone(s.tb.Context(), tenant, role, kind)
	must(s.tb, err)
	return p
}

// NewPhones pairs several devices at once.
func (s *Site) NewPhones(n int, tenant, role string) []*Phone {
	s.tb.Helper()
	all := make([]*Phone, n)
	Each(s.tb, n, func(i int) (err error) {
		all[i], err = s.pairPhone(s.tb.Context(), tenant, role, "phone")
		return err
	})
	return all
}

func (s *Site) pairPhone(ctx context.Context, tenant, role, kind string) (*Phone, error) {
	code, err := s.Operator().PairingCode(ctx, tenant, role)
	if err != nil {
		return nil, err
	}
	devices := apiclient.NewDevice(s.public)
	d, err := connectclient.Pair(ctx, devices, code.Code, connectclient.Device{API: Audience, Name: "a " + kind, Kind: kind})
	if err != nil {
		return nil, err
	}
	return &Phone{d, connectclient.NewTokens(d, devices), s}, nil
}

// Main is its handle of the route that every tenant has.
func (p *Phone) Main() string { return p.Handles["main"] }

// Through are options that connect at the region's origin, at which the given nodes are: each connection goes to one that
// answers, in no order.
func (p *Phone) Through(nodes ...*Relay) connectclient.Options {
	trust := p.site.server.trusting("")
	return connectclient.Options{URL: p.Connect, Tokens: p.Tokens, TLS: trust, Dial: balancer(nodes), Pause: time.Second}
}

// balancer stands before the nodes of a region.
func balancer(nodes []*Relay) func(context.Context, string, string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		var all error
		for _, i := range rand.Perm(len(nodes)) {
			c, err := dialer.DialContext(ctx, network, nodes[i].Devices())
			if err == nil {
				return c, nil
			}
			all = errors.Join(all, err)
		}
		return nil, all
	}
}

// Dial is a client of the device, which the test's end closes.
func (p *Phone) Dial(o connectclient.Options) *connectclient.Client {
	p.site.tb.Helper()
	c := connectclient.Dial(p.site.tb.Context(), o)
	p.site.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// openPublic is a client of the API that has no proof of its own.
func (s *Site) openPublic() {
	s.tb.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(s.server.leaf)
	c, err := apiclient.New(apiclient.Options{Base: s.Replicas[0].API, CA: pool, Timeout: time.Minute})
	must(s.tb, err)
	s.tb.Cleanup(c.Close)
	s.public = c
}
