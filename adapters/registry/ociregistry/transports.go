package ociregistry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"sync"
	"time"

	"berth/domain/delivery"
)

// transports keeps connections, apart by the authorities that they trust. There are as many as registries have had, and no
// more than kept at a time.
type transports struct {
	mu   sync.Mutex
	byCA map[string]*http.Transport
}

const kept = 64

func newTransports() *transports { return &transports{byCA: map[string]*http.Transport{}} }

func (t *transports) of(r delivery.Registry) (*http.Transport, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known, ok := t.byCA[r.CA]; ok {
		return known, nil
	}
	made, err := newTransport(r.CA)
	if err != nil {
		return nil, err
	}
	if len(t.byCA) >= kept {
		t.forget()
	}
	t.byCA[r.CA] = made
	return made, nil
}

func (t *transports) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget()
}

func (t *transports) forget() {
	for ca, known := range t.byCA {
		known.CloseIdleConnections()
		delete(t.byCA, ca)
	}
}

func newTransport(ca string) (*http.Transport, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM([]byte(ca)) {
			return nil, errors.New("the registry's CA is no PEM of certificates")
		}
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		TLSClientConfig:        trust,
		TLSHandshakeTimeout:    answerFor / 2,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConnsPerHost:    perHost,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // what is bounded is what came over the wire
	}, nil
}
