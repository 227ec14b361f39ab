package ingressd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"berth/adapters/ingress/upstream"
	"berth/cmd/internal/listen"
	"berth/cmd/internal/secretfile"
)

// newUpstream returns the control plane that the settings name. Own is the certificate to show it; nil where there is none.
func newUpstream(c Config, own *secretfile.Watched[*tls.Certificate]) (*upstream.Upstream, error) {
	o := upstream.Options{}
	for _, text := range c.Upstream {
		e, ok := endpoint(text)
		if !ok {
			return nil, fmt.Errorf("%q is no upstream", text)
		}
		o.Endpoints = append(o.Endpoints, e)
	}
	var err error
	o.TLS, err = clientTLS(c, own)
	if err != nil {
		return nil, err
	}
	return upstream.New(o), nil
}

// clientTLS believes a server whose key is pinned, one whose CA is known, or one that is both where both are given.
func clientTLS(c Config, own *secretfile.Watched[*tls.Certificate]) (*tls.Config, error) {
	t := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"}}
	if own != nil {
		t.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return own.Current(), nil }
	}
	if c.UpstreamCAFile != "" {
		pool, err := authorities(c.UpstreamCAFile)
		if err != nil {
			return nil, err
		}
		t.RootCAs = pool
	}
	pins := make([]string, 0, len(c.UpstreamPins))
	for _, pin := range c.UpstreamPins {
		pins = append(pins, strings.ToLower(pin))
	}
	if len(pins) == 0 {
		return t, nil
	}
	t.InsecureSkipVerify = t.RootCAs == nil // the pin says more than a name and a signature
	t.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) > 0 && slices.Contains(pins, listen.Pin(state.PeerCertificates[0].RawSubjectPublicKeyInfo)) {
			return nil
		}
		return errors.New("the upstream's key is not pinned")
	}
	return t, nil
}

func authorities(path string) (*x509.CertPool, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate", path)
	}
	return pool, nil
}
