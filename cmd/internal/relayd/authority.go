package relayd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"os"
	"sync/atomic"

	"berth/adapters/apiclient"
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

// OpenAuthority reaches the control plane.
func OpenAuthority(c Config, shown *Shown) (*apiclient.Authority, error) {
	roots, err := c.roots()
	if err != nil {
		return nil, err
	}
	enroll := c.EnrollURL
	if enroll == "" { // a node with a certificate needs none, and one without is told when it has a join token
		enroll = c.ControlURL
	}
	return apiclient.NewAuthority(apiclient.AuthorityOptions{
		Node:    c.Node,
		Control: apiclient.Options{Base: c.ControlURL, CA: roots, Certificate: shown.certificate},
		Enroll:  apiclient.Options{Base: enroll, CA: roots},
	})
}

// roots are who may sign the control plane's certificates; nil for the system's.
func (c Config) roots() (*x509.CertPool, error) {
	if c.CAFile == "" {
		return nil, nil //nolint:nilnil // crypto/tls then asks the system
	}
	text, err := os.ReadFile(c.CAFile)
	if err != nil {
		return nil, fault.New(fault.Invalid, "file_unreadable", "%s can not be read", c.CAFile).Because(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fault.New(fault.Invalid, "ca_file_malformed", "%s holds no certificate in PEM", c.CAFile)
	}
	return pool, nil
}
