package ingress

import "crypto/tls"

// serverTLS asks every client for a certificate and leaves the judgement to the verifier: what the standard library checks
// by itself is neither strict enough nor done by the bundle of the moment. There are no tickets: a session that is resumed
// is not verified. The peer of the connection is left in p.
func (g *Ingress) serverTLS(p **peer) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{alpn}, SessionTicketsDisabled: true,
		ClientAuth:     tls.RequestClientCert, // one that shows none is refused by the verifier, which says so
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return g.o.Certificate(), nil },
		VerifyConnection: func(state tls.ConnectionState) (err error) {
			*p, err = g.verifier.identify(state)
			return err
		},
	}
}

const alpn = "http/1.1"
