package connect_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"berth/adapters/connect"
	"berth/ports/authority"
)

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC),
		NotAfter:    time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC), // a bubble's clock begins in 2000
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})

// site is a handler behind its listener, on a plane in memory.
type site struct {
	*plane
	tb       testing.TB
	handler  *connect.Handler
	server   *connect.Server
	listener net.Listener
	address  string
	client   *http.Client
}

type nobody struct{}

func (nobody) Forward(http.ResponseWriter, *http.Request, authority.Route) error {
	return errors.New("there is no peer")
}

func limits() connect.Limits {
	l := connect.DefaultLimits()
	l.Attachment = 1 << 20
	return l
}

func newSite(tb testing.TB, l connect.Limits) *site { return newSiteWith(tb, l, nobody{}) }

func newSiteWith(tb testing.TB, l connect.Limits, f connect.Forwarder) *site {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	return newSiteOn(tb, l, f, listener)
}

// newBubble is a site within a synctest bubble: its connections are pipes, on which goroutines wait as the bubble knows it.
func newBubble(tb testing.TB, l connect.Limits) *site {
	tb.Helper()
	return newSiteOn(tb, l, nobody{}, &pipes{conns: make(chan net.Conn), closed: make(chan struct{})})
}

// pipes is a listener whose connections are pipes.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func newSiteOn(tb testing.TB, l connect.Limits, f connect.Forwarder, listener net.Listener) *site {
	tb.Helper()
	s := &site{plane: newPlane(), tb: tb}
	log := slog.New(slog.DiscardHandler)
	s.handler = connect.New(connect.Options{URL: "wss://region.example/connect/v1", Limits: l, Log: log}, s.plane, f)
	s.server = connect.NewServer(connect.ServerOptions{
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { c := certificate(); return &c, nil },
		Limits:      l, Log: log,
	}, s.handler)
	s.listener = listener
	s.address = listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.server.Serve(listener) }()
	transport := &http.Transport{TLSClientConfig: clientTLS()}
	s.client = &http.Client{Transport: transport, Timeout: patience}
	tb.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s.handler.Stop(ctx)
		_ = s.server.Shutdown(ctx)
		if err := <-served; err != nil {
			tb.Errorf("serve: %v", err)
		}
		if n := s.open(); n != 0 {
			tb.Errorf("%d sessions were not left", n)
		}
		eventually(tb, "no connection is counted", func() bool { return s.server.Counts().Connections == 0 })
	})
	return s
}

func clientTLS() *tls.Config {
	roots := x509.NewCertPool()
	leaf, _ := x509.ParseCertificate(certificate().Certificate[0])
	roots.AddCert(leaf)
	return &tls.Config{RootCAs: roots, ServerName: "localhost"}
}

// network opens a connection without TLS.
func (s *site) network() net.Conn {
	s.tb.Helper()
	var c net.Conn
	var err error
	if p, ok := s.listener.(*pipes); ok {
		var far net.Conn
		c, far = net.Pipe()
		p.conns <- far
	} else {
		c, err = net.Dial("tcp", s.address)
	}
	if err != nil {
		s.tb.Fatal(err)
	}
	s.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// dial opens a TLS connection.
func (s *site) dial() *tls.Conn {
	s.tb.Helper()
	c := tls.Client(s.network(), clientTLS())
	if err := c.Handshake(); err != nil {
		s.tb.Fatal(err)
	}
	return c
}
