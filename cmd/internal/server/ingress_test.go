package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/cmd/internal/devca"
	"berth/domain/fault"
)

// enrolled is the certificate of node n1, by a join token.
func (r *running) enrolled(o apiclient.Operator) *tls.Certificate {
	r.tb.Helper()
	ctx := r.tb.Context()
	must := func(err error) {
		r.tb.Helper()
		if err != nil {
			r.tb.Fatal(err)
		}
	}
	must(r.process.Trust.KeepKeys(ctx)) // the duty may not have made the first root yet
	_, err := o.CreateRegion(ctx, contract.NewRegion{ID: "eu", Origin: "https://eu.example"})
	must(err)
	_, err = o.CreateNode(ctx, contract.NewNode{ID: "n1", Region: "eu", Capacity: contract.Capacity{Tenants: 1, Bytes: 1}})
	must(err)
	token, err := o.JoinToken(ctx, "n1", contract.NewJoinToken{})
	must(err)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	csr, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	must(err)
	c, err := apiclient.New(apiclient.Options{Base: r.out.of("enroll")})
	must(err)
	defer c.Close()
	ask := contract.Enroll{JoinToken: token.Token, CSR: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: csr}))}
	in, err := apiclient.NewEnrolment(c).Enroll(ctx, ask)
	for late := time.Now().Add(time.Minute); fault.SlugOf(err) == "ca_not_ready" && time.Now().Before(late); {
		<-time.After(50 * time.Millisecond)                  // within what the listener lets one address ask
		in, err = apiclient.NewEnrolment(c).Enroll(ctx, ask) // its key is made once the duties run
	}
	must(err)
	r.shows("berth_ingress_trust_bundle_roots 1") // the ingress believes the CA that signed it
	block, _ := pem.Decode([]byte(in.Certificate))
	return &tls.Certificate{Certificate: [][]byte{block.Bytes}, PrivateKey: key}
}

// shows waits until the metrics have a line.
func (r *running) shows(line string) {
	r.tb.Helper()
	late := time.Now().Add(time.Minute)
	for {
		w := httptest.NewRecorder()
		r.process.Handlers.Metrics.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if strings.Contains(w.Body.String(), line+"\n") {
			return
		}
		if time.Now().After(late) {
			r.tb.Fatalf("the metrics never show %q", line)
		}
	}
}

// through is a client of the nodes' API through the ingress, with a certificate or none.
func (r *running) through(ca *devca.CA, cert *tls.Certificate) apiclient.Node {
	r.tb.Helper()
	o := apiclient.Options{Base: strings.Replace(r.out.of("ingress"), "127.0.0.1", "localhost", 1), CA: ca.Pool()}
	if cert != nil {
		o.Certificate = func() (*tls.Certificate, error) { return cert, nil }
	}
	c, err := apiclient.New(o)
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(c.Close)
	return apiclient.NewNode(c, "n1")
}

// withIngress is a server with an ingress within it.
func withIngress(t *testing.T, further ...string) (*running, *devca.CA) {
	t.Helper()
	ca, err := devca.Open(t.TempDir(), "berth.example", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	_, cert, key, err := ca.Server("ingress")
	if err != nil {
		t.Fatal(err)
	}
	return run(t, append([]string{
		"BERTH_INGRESS_LISTEN=127.0.0.1:0", "BERTH_INGRESS_CERT_FILE=" + cert, "BERTH_INGRESS_KEY_FILE=" + key,
		"BERTH_ENROLL_LISTEN=127.0.0.1:0",
	}, further...)...), ca
}

// A control plane with an ingress within it serves nodes by their certificates alone, and follows the ingress secret
// without any moment at which it refuses its own ingress for long.
func TestIngressWithin(t *testing.T) {
	t.Parallel()
	r, ca := withIngress(t)
	node := r.through(ca, r.enrolled(r.operator()))
	first, err := node.Register(t.Context(), contract.Register{BootID: "b", StorageID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node.Heartbeat(t.Context(), contract.Heartbeat{Generation: first.Generation, Sequence: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.through(ca, nil).SigningKeys(t.Context()); fault.SlugOf(err) != "certificate_refused" {
		t.Errorf("without a certificate: %v", err)
	}
	if _, err := r.through(ca, client(t, ca, "n1")).SigningKeys(t.Context()); fault.SlugOf(err) != "certificate_refused" {
		t.Errorf("with another CA's certificate: %v", err)
	}
	secretsFile(t, r.dir, "two", "b")
	late := time.Now().Add(time.Minute)
	for sequence := int64(2); ; sequence++ {
		_, err := node.Heartbeat(t.Context(), contract.Heartbeat{Generation: first.Generation, Sequence: sequence})
		if slug := fault.SlugOf(err); err != nil && slug != "assertion_secret_unknown" {
			t.Fatal(err)
		}
		if err == nil && r.process.Secrets.Current().Sealing().ID == "two" {
			break
		}
		if time.Now().After(late) {
			t.Fatal("the new secret is never taken up on both sides")
		}
	}
	r.finish()
}

// A stop answers nodes that wait by the ingress, at once, and leaves nothing open.
func TestStopWithIngress(t *testing.T) {
	t.Parallel()
	r, ca := withIngress(t)
	node := r.through(ca, r.enrolled(r.operator()))
	if _, err := node.Register(t.Context(), contract.Register{BootID: "b", StorageID: "s"}); err != nil {
		t.Fatal(err)
	}
	polled := make(chan error, 1)
	go func() {
		_, err := node.Poll(t.Context(), []contract.Known{}, 20*time.Second)
		polled <- err
	}()
	r.shows("berth_hint_subscriptions 1")
	began := time.Now()
	r.finish()
	if err := <-polled; fault.SlugOf(err) != "ingress_stopping" && fault.SlugOf(err) != "request_ended" { // whichever is first
		t.Errorf("who waited: %v", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the stop took %s", took)
	}
	if _, err := os.Lstat(r.dir + "/s"); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
}
