package apiclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Options say where a server is and how a client proves who it is.
type Options struct {
	Base        string         // https://host[:port], unix:PATH, or http://host[:port] on loopback
	CA          *x509.CertPool // who may sign the server's certificate; nil for the system's
	Certificate Certificate    // the client's own; nil for none
	Proof       Proof          // nil for none
	Timeout     time.Duration  // of a request that does not wait; 0 is 10 s
}

// Certificate gives the certificate to show; it is asked at each handshake, so that a renewed one needs no new client:
// CloseIdle makes the next request use it.
type Certificate func() (*tls.Certificate, error)

// Client sends requests to one server. It is safe for concurrent use. Use New, and Close when done.
type Client struct {
	base      string
	transport *http.Transport
	http      *http.Client
	proof     Proof
	timeout   time.Duration
}

// SocketHost is the host that requests over a Unix socket name.
const SocketHost = "berth.internal"

const defaultTimeout = 10 * time.Second

// New returns a client. Fault: Invalid invalid_url.
func New(o Options) (*Client, error) {
	c := &Client{proof: o.Proof, timeout: o.Timeout, transport: &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: o.CA},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // an answer is as long as it says
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        time.Minute,
		TLSHandshakeTimeout:    defaultTimeout,
		MaxResponseHeaderBytes: contract.MaxHeader,
	}}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	if o.Certificate != nil {
		c.transport.TLSClientConfig.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			return o.Certificate()
		}
	}
	if err := c.aim(o.Base); err != nil {
		return nil, err
	}
	c.http = &http.Client{Transport: c.transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse // a proof goes to nobody else
	}}
	return c, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Base is the server's base URL, as it was given.
func (c *Client) Base() string { return c.base }

// With is the same client with another proof.
func (c *Client) With(p Proof) *Client {
	other := *c
	other.proof = p
	return &other
}

// CloseIdle lets go of the connections that no request uses; those that follow are made anew.
func (c *Client) CloseIdle() { c.transport.CloseIdleConnections() }

func (c *Client) aim(base string) error {
	if path, ok := strings.CutPrefix(base, "unix:"); ok && path != "" {
		c.base = "http://" + SocketHost
		c.transport.Proxy = nil
		c.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}
		return nil
	}
	base = strings.TrimSuffix(base, "/")
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme+"://"+u.Host != base {
		return invalidURL("a server reads https://host[:port] or unix:PATH")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
		return invalidURL("a server that is not on this machine is reached by https only")
	}
	c.base = base
	return nil
}

func invalidURL(detail string) error { return fault.New(fault.Invalid, "invalid_url", "%s", detail) }

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
