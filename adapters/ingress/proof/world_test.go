package proof_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"berth/adapters/ingress/proof"
	"berth/adapters/ingress/proof/prooftest"
	"berth/domain/identity"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	domain = "berth.test"
	region = "eu"
)

// world is a terminator, a control plane behind it, and the nodes of a proof.
type world struct {
	t       *testing.T
	ca      *proof.Authority
	backend *prooftest.Backend
	proxy   *prooftest.Proxy
	site    *proof.Site
}

func newWorld(t *testing.T, leaks prooftest.Leaks) *world {
	t.Helper()
	ca, err := proof.NewAuthority("the nodes' CA")
	must(t, err)
	secret := identity.IngressSecret{ID: "s1", Key: make([]byte, 32)}
	secrets, err := identity.NewIngressSecrets([]identity.IngressSecret{secret}, nil)
	must(t, err)
	w := &world{t: t, ca: ca, backend: &prooftest.Backend{Secrets: secrets}}
	socket := w.serveBackend()
	pool := x509.NewCertPool()
	pool.AddCert(ca.Certificate)
	w.proxy = &prooftest.Proxy{
		Leaks: leaks, Certificate: serverCertificate(t, ca), Roots: pool, TrustDomain: domain, Secret: secret,
		Dial: func() (net.Conn, error) { return net.Dial("unix", socket) }, Slow: 3 * time.Second, PerNode: 20,
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	go w.proxy.Serve(l)
	t.Cleanup(func() { _ = l.Close(); w.proxy.Close() })
	w.site = &proof.Site{
		Ingress:     &proof.Endpoint{Network: "tcp", Address: l.Addr().String(), TLS: true, Roots: pool},
		Internal:    &proof.Endpoint{Network: "unix", Address: socket},
		TrustDomain: domain, Region: region, Token: "bt_token", Authority: ca, Seen: w.backend.Seen,
		MaxConnectionsPerNode: 20, Patience: 20 * time.Second, Slow: 20 * time.Second, Quiet: 40 * time.Millisecond,
	}
	w.enrol()
	return w
}

func (w *world) serveBackend() string {
	dir, err := os.MkdirTemp("", "proof-") // a socket's path has about 100 bytes
	must(w.t, err)
	w.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	must(w.t, err)
	server := &http.Server{Handler: w.backend, ErrorLog: log.New(w.t.Output(), "", 0), ReadHeaderTimeout: time.Second}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(l) }()
	w.t.Cleanup(func() { _ = server.Close(); <-done })
	return socket
}

func (w *world) member(id, slug string) proof.Member {
	w.t.Helper()
	c, err := w.ca.Issue("spiffe://" + domain + "/relay/" + region + "/" + id)
	must(w.t, err)
	w.backend.Set(fingerprint(c), slug)
	return proof.Member{ID: id, Certificate: c}
}

func (w *world) enrol() {
	revoked, superseded, retired := w.member("revoked", "credential_revoked"), w.member("superseded", "credential_superseded"), w.member("retired", "node_retired")
	w.site.First, w.site.Second = w.member("first", ""), w.member("second", "")
	w.site.Existing = "before"
	w.site.Revoked, w.site.Superseded, w.site.Retired = &revoked, &superseded, &retired
	w.site.Spare = func(context.Context) (proof.Member, func(context.Context) error, error) {
		c, err := w.ca.Issue("spiffe://" + domain + "/relay/" + region + "/spare")
		w.backend.Set(fingerprint(c), "")
		return proof.Member{ID: "spare", Certificate: c}, func(context.Context) error {
			w.backend.Set(fingerprint(c), "credential_revoked")
			return nil
		}, err
	}
	w.site.Forge = w.forge
}

// forge makes, with the secret, an assertion of the second node.
func (w *world) forge(bend func(*identity.Payload)) (string, error) {
	id, err := identity.RelayID(domain, region, "second")
	must(w.t, err)
	p := identity.Payload{
		SPIFFEID: id, Fingerprint: fingerprint(w.site.Second.Certificate), Method: "GET", Host: "h", BodySHA256: sha256.Sum256(nil),
		IssuedAt: time.Now(), ExpiresAt: time.Now().Add(10 * time.Second), Nonce: make([]byte, 16),
	}
	bend(&p)
	return identity.Seal(w.proxy.Secret, p)
}

func serverCertificate(t *testing.T, ca *proof.Authority) tls.Certificate {
	t.Helper()
	c, err := ca.Issue("spiffe://x/y", func(c *x509.Certificate) {
		c.URIs, c.IPAddresses = nil, []net.IP{net.IPv4(127, 0, 0, 1)}
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	must(t, err)
	return c
}

func fingerprint(c tls.Certificate) string {
	sum := sha256.Sum256(c.Certificate[0])
	return fmt.Sprintf("%x", sum)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
