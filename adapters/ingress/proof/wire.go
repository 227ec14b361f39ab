package proof

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// wire is one connection on which a probe writes what no client would.
type wire struct {
	net.Conn
	resumed bool
}

// dialing bends how a connection is made.
type dialing func(*tls.Config)

// showing presents a certificate.
func showing(c tls.Certificate) dialing {
	return func(t *tls.Config) {
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c, nil }
	}
}

// dial connects. Where that fails by the other side's will it says how; an error is the caller's own trouble.
func (s *Site) dial(ctx context.Context, e *Endpoint, how ...dialing) (*wire, Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, s.patience())
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, e.Network, e.Address)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, os.ErrNotExist):
		return nil, Outcome{Way: Unreached}, nil
	case err != nil:
		return nil, Outcome{}, trouble("no connection: %w", err)
	case !e.TLS:
		return &wire{Conn: conn}, Outcome{}, nil
	}
	config := e.config()
	for _, bend := range how {
		bend(config)
	}
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return refusedHandshake(err)
	}
	return &wire{Conn: client, resumed: client.ConnectionState().DidResume}, Outcome{}, nil
}

func refusedHandshake(err error) (*wire, Outcome, error) {
	if _, ours := errors.AsType[*tls.CertificateVerificationError](err); ours {
		return nil, Outcome{}, trouble("the server's certificate is not believed: %w", err)
	}
	if alerted(err) {
		return nil, Outcome{Way: Handshake, Note: err.Error()}, nil
	}
	if gone(err) {
		return nil, Outcome{Way: Handshake, Note: "without an alert"}, nil
	}
	return nil, Outcome{}, trouble("no handshake: %w", err)
}

func (e *Endpoint) config() *tls.Config {
	name, _, err := net.SplitHostPort(e.host())
	if err != nil {
		name = e.host()
	}
	c := &tls.Config{
		MinVersion: tls.VersionTLS12, RootCAs: e.Roots, ServerName: name, NextProtos: []string{"http/1.1"},
	}
	if e.Own != nil {
		showing(*e.Own)(c)
	}
	return c
}

func alerted(err error) bool {
	var alert tls.AlertError
	var op *net.OpError
	return errors.As(err, &alert) || errors.As(err, &op) && op.Op == "remote error"
}

func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func (w *wire) patient(d time.Duration) { _ = w.SetDeadline(time.Now().Add(d)) }
