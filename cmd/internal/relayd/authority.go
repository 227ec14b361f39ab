package relayd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync/atomic"
	"time"

	"berth/adapters/apiclient"
	"berth/cmd/internal/secretfile"
	"berth/domain/fault"
)

// Shown is the certificate that the node shows, which exists later than the clients that ask for it.
type Shown struct{ from atomic.Pointer[source] }

type source func() (chain [][]byte, key any, ok bool)

// NewShown shows none until From was called.
func NewShown() *Shown { return &Shown{} }

// From says where the certificate is.
func (s *Shown) From(current func() (chain [][]byte, key any, ok bool)) {
	s.from.Store((*source)(&current))
}

var errNone = errors.New("the node has no certificate yet")

func (s *Shown) certificate() (*tls.Certificate, error) {
	from := s.from.Load()
	if from == nil {
		return nil, errNone
	}
	chain, key, ok := (*from)()
	if !ok {
		return nil, errNone
	}
	return &tls.Certificate{Certificate: chain, PrivateKey: key}, nil
}

// Roots are who may sign the control plane's certificates, as their file has them now; nil for the system's.
type Roots = secretfile.Watched[*x509.CertPool]

// OpenRoots reads them for the first time.
func OpenRoots(c Config) (*Roots, error) {
	if c.CAFile == "" {
		return nil, nil //nolint:nilnil // crypto/tls then asks the system
	}
	return secretfile.Watch(c.roots, c.CAFile)
}

// OpenAuthority reaches the control plane.
func OpenAuthority(c Config, shown *Shown, roots *Roots) (*apiclient.Authority, error) {
	enroll := c.EnrollURL
	if enroll == "" { // a node with a certificate needs none, and one without is told when it has a join token
		enroll = c.ControlURL
	}
	o := apiclient.AuthorityOptions{
		Node:    c.Node,
		Control: apiclient.Options{Base: c.ControlURL, Certificate: shown.certificate},
		Enroll:  apiclient.Options{Base: enroll},
	}
	if roots != nil {
		o.Roots = roots.Current
	}
	return apiclient.NewAuthority(o)
}

const lookRoots = 2 * time.Second

// followRoots takes up roots that were replaced: from then on every connection is made anew.
func (p *Process) followRoots(ctx context.Context) {
	if p.Roots == nil {
		return
	}
	look := time.NewTicker(lookRoots)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		switch changed, err := p.Roots.Refresh(); {
		case err != nil:
			p.Log.Error("the roots that were read before stay in use", "error", err)
		case changed:
			p.Log.Info("read anew", "read", "ca_file")
			p.Authority.Renew()
		}
	}
}

func (c Config) roots() (*x509.CertPool, error) {
	text, err := secretfile.ReadTrusted(c.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fault.New(fault.Invalid, "ca_file_malformed", "%s holds no certificate in PEM", c.CAFile)
	}
	return pool, nil
}
