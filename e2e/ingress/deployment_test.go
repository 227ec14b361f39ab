package ingress_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/adapters/ingress/proof"
	"berth/domain/identity"
	"berth/e2e/harness"
)

const (
	trustDomain = "berth.test"
	region      = "eu"
	serverName  = "berth.test.internal"
)

// deployment is berthd, the ingress before it, and everything that an operator of theirs has.
type deployment struct {
	tb       testing.TB
	dir      string // what both read
	anchor   *proof.Authority
	hostile  *proof.Authority // a CA that the ingress believes, beside the control plane's own
	own      tls.Certificate  // by which the ingress proves itself to berthd
	secret   identity.IngressSecret
	token    string
	berthd   []program
	ingress  program
	site     proof.Site
	internal []*proof.Endpoint // of each replica
	operator apiclient.Operator
	cast     *proof.Cast
}

// prepare makes the files of a deployment.
func prepare(tb testing.TB) *deployment {
	tb.Helper()
	dir, err := os.MkdirTemp("", "berth-") // a socket's path has about 100 bytes
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &deployment{tb: tb, dir: dir, secret: newSecret("s1")}
	d.anchor, err = proof.NewAuthority("servers")
	must(tb, err)
	d.hostile, err = proof.NewAuthority("a careless CA")
	must(tb, err)
	d.own = d.serverCertificate()
	writeCertificate(tb, d.path("client.crt"), d.path("client.key"), d.own)
	writeCertificate(tb, d.path("tls.crt"), d.path("tls.key"), d.serverCertificate())
	writeCertificate(tb, d.path("front.crt"), d.path("front.key"), d.serverCertificate())
	d.write("ca.pem", encode(d.anchor.Certificate.Raw))
	d.write("bootstrap", harness.Bootstrap)
	d.write("secrets.json", secretsText(nil, d.secret))
	d.write("signing.json", secretsText(nil, d.secret))
	return d
}

func newSecret(id string) identity.IngressSecret {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return identity.IngressSecret{ID: id, Key: key}
}

func (d *deployment) path(name string) string { return filepath.Join(d.dir, name) }

func (d *deployment) write(name, text string) {
	d.tb.Helper()
	must(d.tb, os.WriteFile(d.path(name), []byte(text), 0o600))
}

// secretsText is a file of secrets, the first of which signs.
func secretsText(retired []string, secrets ...identity.IngressSecret) string {
	list := []map[string]string{}
	for _, s := range secrets {
		list = append(list, map[string]string{"id": s.ID, "key": base64.StdEncoding.EncodeToString(s.Key)})
	}
	data, err := json.Marshal(map[string]any{"secrets": list, "retired": retired})
	if err != nil {
		panic(err) // texts always marshal
	}
	return string(data)
}

// serverCertificate is good for a server and for a client, as pins ask for nothing else.
func (d *deployment) serverCertificate() tls.Certificate {
	d.tb.Helper()
	c, err := d.anchor.Issue("spiffe://x/y", func(c *x509.Certificate) {
		c.URIs, c.IPAddresses, c.DNSNames = nil, []net.IP{net.IPv4(127, 0, 0, 1)}, []string{serverName}
	})
	must(d.tb, err)
	return c
}

func writeCertificate(tb testing.TB, certFile, keyFile string, c tls.Certificate) {
	tb.Helper()
	key, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	must(tb, err)
	must(tb, os.WriteFile(certFile, []byte(encode(c.Certificate[0])), 0o600))
	must(tb, os.WriteFile(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600))
}

func encode(der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

func pin(c tls.Certificate) string {
	leaf, err := x509.ParseCertificate(c.Certificate[0])
	if err != nil {
		panic(err) // it was made here
	}
	sum := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(sum[:])
}

func (d *deployment) served(file string) tls.Certificate {
	d.tb.Helper()
	c, err := tls.LoadX509KeyPair(d.path(file+".crt"), d.path(file+".key"))
	must(d.tb, err)
	return c
}

func (d *deployment) roots() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(d.anchor.Certificate)
	return pool
}

func (d *deployment) endpoint(address string) *proof.Endpoint {
	return &proof.Endpoint{Network: "tcp", Address: address, TLS: true, Roots: d.roots()}
}

// settings are berthd's, but for what differs between machines; in is the directory as berthd sees it.
func settings(in string) map[string]string {
	return map[string]string{
		"BERTH_KMS_URL": "file:" + in + "/keys", "BERTH_TLS_CERT_FILE": in + "/tls.crt", "BERTH_TLS_KEY_FILE": in + "/tls.key",
		"BERTH_BOOTSTRAP_TOKEN_FILE": in + "/bootstrap", "BERTH_INGRESS_SECRETS_FILE": in + "/secrets.json", "BERTH_TRUST_DOMAIN": trustDomain,
		"BERTH_SOURCE_RATE": "100000", "BERTH_SOURCE_BURST": "100000", "BERTH_ENROLL_RATE": "100000", "BERTH_ENROLL_BURST": "100000",
		"BERTH_NODE_RATE": "100000", "BERTH_NODE_BURST": "100000", "BERTH_DEVICE_RATE": "10000", "BERTH_DEVICE_BURST": "10000",
		"BERTH_SWEEP_INTERVAL": "500ms",
	}
}

// ingressSettings are the ingress' own.
func ingressSettings(in string) map[string]string {
	return map[string]string{
		"BERTH_INGRESS_CERT_FILE": in + "/front.crt", "BERTH_INGRESS_KEY_FILE": in + "/front.key", "BERTH_INGRESS_TRUST_DOMAIN": trustDomain,
		"BERTH_INGRESS_TRUST_BUNDLE_FILE": in + "/bundle.pem", "BERTH_INGRESS_TRUST_BUNDLE_REFRESH": "0s",
		"BERTH_INGRESS_SECRETS_FILE": in + "/signing.json", "BERTH_INGRESS_NODE_RATE": "100000", "BERTH_INGRESS_NODE_BURST": "100000",
		"BERTH_INGRESS_MAX_CONNECTIONS_PER_NODE": "60", "BERTH_INGRESS_ACCESS_LOG": "refused", "BERTH_INGRESS_STOP_GRACE": "2s",
	}
}

// ready waits until berthd is, and makes an admin and a region.
func (d *deployment) ready() {
	d.tb.Helper()
	client := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: d.roots()}}}
	defer client.CloseIdleConnections()
	base := "https://" + d.site.API.Address
	within(d.tb, "berthd is ready", d.berthd[0], func() bool {
		resp, err := client.Get(base + "/readyz")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	first := apiclient.NewOperator(d.client(base, apiclient.Bearer(harness.Bootstrap)))
	made, err := first.CreateToken(d.tb.Context(), contract.NewToken{Name: "test", Role: "admin"})
	must(d.tb, err)
	d.token = made.Token
	d.operator = apiclient.NewOperator(d.client(base, apiclient.Bearer(made.Token)))
	_, err = d.operator.CreateRegion(d.tb.Context(), contract.NewRegion{ID: region, Origin: "https://eu.berth.test"})
	must(d.tb, err)
}

func (d *deployment) client(base string, p apiclient.Proof) *apiclient.Client {
	d.tb.Helper()
	c, err := apiclient.New(apiclient.Options{Base: base, CA: d.roots(), Proof: p})
	must(d.tb, err)
	d.tb.Cleanup(c.Close)
	return c
}

// writeBundle lets the ingress believe the control plane's roots, and a careless CA.
func (d *deployment) writeBundle() {
	d.tb.Helper()
	var bundle contract.TrustBundle
	enrolment := d.enrolment()
	within(d.tb, "there is a root", d.berthd[0], func() bool {
		var err error
		bundle, err = enrolment.TrustBundle(d.tb.Context())
		return err == nil && len(bundle.Roots) > 0
	})
	d.write("bundle.pem", strings.TrimSpace(bundle.PEM)+"\n"+encode(d.hostile.Certificate.Raw))
}

func (d *deployment) enrolment() apiclient.Enrolment {
	d.tb.Helper()
	return apiclient.NewEnrolment(d.client("https://"+d.site.Enroll.Address, nil))
}

// ingressReady waits until it answers, and enrols the nodes of a proof through it.
func (d *deployment) ingressReady() {
	d.tb.Helper()
	within(d.tb, "the ingress listens", d.ingress, func() bool { return dials(d.site.Ingress.Address) })
	d.site.TrustDomain, d.site.Token, d.site.Authority = trustDomain, d.token, d.hostile
	d.site.Patience, d.site.Slow, d.site.Quiet = 8*time.Second, 25*time.Second, 60*time.Millisecond
	d.site.MaxConnectionsPerNode, d.site.Existing = 60, "before"
	_, err := d.operator.CreateNode(d.tb.Context(), contract.NewNode{ID: "before", Region: region})
	must(d.tb, err)
	d.site.Forge = d.forge
	d.cast = proof.NewCast(d.operator, d.enrolment(), region)
	if err := d.cast.Fill(d.tb.Context(), &d.site); err != nil {
		d.tb.Fatalf("%v; the ingress said:\n%s", err, tail(d.ingress.output()))
	}
	d.tb.Cleanup(func() {
		if left := d.cast.Clean(context.Background()); len(left) > 0 && !d.tb.Failed() {
			d.tb.Errorf("nodes were left behind: %v", left)
		}
	})
}

func dials(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	return err == nil && c.Close() == nil
}

// forge makes, by the secret, what an ingress would say of the second node.
func (d *deployment) forge(bend func(*identity.Payload)) (string, error) {
	return d.forgeAs(d.site.Second, bend)
}

func (d *deployment) forgeAs(m proof.Member, bend func(*identity.Payload)) (string, error) {
	id, err := identity.RelayID(trustDomain, region, m.ID)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(m.Certificate.Certificate[0])
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	p := identity.Payload{
		SPIFFEID: id, Fingerprint: hex.EncodeToString(sum[:]), Method: "GET", Host: "h", BodySHA256: sha256.Sum256(nil),
		IssuedAt: time.Now(), ExpiresAt: time.Now().Add(10 * time.Second), Nonce: nonce,
	}
	bend(&p)
	return identity.Seal(d.secret, p)
}
