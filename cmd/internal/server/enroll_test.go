package server_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/signer"
)

// enrolling is a server that serves enrolment and has its first root, its enrolment API, and an operator's client; it has
// the region eu and the node n1.
func enrolling(tb testing.TB, further ...string) (*running, apiclient.Enrolment, apiclient.Operator) {
	tb.Helper()
	r := run(tb, append([]string{"BERTH_ENROLL_LISTEN=127.0.0.1:0"}, further...)...)
	if err := r.process.Trust.KeepKeys(context.Background()); err != nil {
		tb.Fatal(err)
	}
	o := r.operator()
	_, regionErr := o.CreateRegion(tb.Context(), contract.NewRegion{ID: "eu", Origin: "https://eu.example"})
	_, nodeErr := o.CreateNode(tb.Context(), contract.NewNode{ID: "n1", Region: "eu", Capacity: contract.Capacity{Tenants: 1, Bytes: 1}})
	if err := errors.Join(regionErr, nodeErr); err != nil {
		tb.Fatal(err)
	}
	return r, apiclient.NewEnrolment(enrolmentClient(tb, r)), o
}

// csr is a certificate request by a new key.
func csr(tb testing.TB) string {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		tb.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}))
}

func joinToken(tb testing.TB, o apiclient.Operator) string {
	tb.Helper()
	t, err := o.JoinToken(tb.Context(), "n1", contract.NewJoinToken{})
	if err != nil {
		tb.Fatal(err)
	}
	return t.Token
}

// A node enrols, works by its certificate, rotates, and is revoked, each through the API; its certificates chain to the
// bundle that every listener tells alike.
func TestANodesCertificates(t *testing.T) {
	t.Parallel()
	r, enrolment, o := enrolling(t)
	got, err := enrolment.Enroll(t.Context(), contract.Enroll{JoinToken: joinToken(t, o), CSR: csr(t)})
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := enrolment.TrustBundle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	operators, err := o.TrustBundle(t.Context())
	if err != nil || bundle.PEM == "" || operators.PEM != bundle.PEM || got.TrustBundle != bundle.PEM || r.internalBundle().PEM != bundle.PEM {
		t.Fatalf("the bundles differ: %+v, %+v, %v", bundle, operators, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(bundle.PEM)) {
		t.Fatal("the bundle holds no root")
	}
	block, _ := pem.Decode([]byte(got.Certificate))
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Verify(x509.VerifyOptions{Roots: pool, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Fatal(err)
	}
	by := func(fingerprint string) apiclient.Node {
		return r.nodeOf("unix:"+r.dir+"/s", "one", "a", fingerprint, nil)
	}
	next, err := by(got.Fingerprint).Rotate(t.Context(), contract.Rotate{CSR: csr(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, fingerprint := range []string{got.Fingerprint, next.Fingerprint} {
		if _, err := by(fingerprint).SigningKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := by(got.Fingerprint).Rotate(t.Context(), contract.Rotate{CSR: csr(t)}); fault.SlugOf(err) != "credential_superseded" {
		t.Errorf("the old certificate: %v", err)
	}
	if _, err := o.RevokeCredential(t.Context(), "n1", next.Fingerprint, "lost"); err != nil {
		t.Fatal(err)
	}
	if _, err := by(next.Fingerprint).SigningKeys(t.Context()); fault.SlugOf(err) != "credential_revoked" {
		t.Errorf("the revoked certificate: %v", err)
	}
	r.finish()
}

// internalBundle is what the ingress is told over the hop to the internal listener, by which no assertion is made.
func (r *running) internalBundle() (out contract.TrustBundle) {
	r.tb.Helper()
	if err := json.Unmarshal([]byte(r.internal("GET", "/trust-bundle")), &out); err != nil {
		r.tb.Fatal(err)
	}
	return out
}

func (r *running) internal(method, path string) string {
	r.tb.Helper()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", r.dir+"/s")
		},
	}}
	req, err := http.NewRequestWithContext(r.tb.Context(), method, "http://berth.internal"+path, nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		r.tb.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.tb.Fatal(err)
	}
	return string(data)
}

// Of many that come over HTTP with one token at the same instant, each with a key of its own, one is enrolled.
func TestOneEnrolmentByOneToken(t *testing.T) {
	t.Parallel()
	r, enrolment, o := enrolling(t)
	for range 3 {
		token := joinToken(t, o)
		errs, start := make([]error, 8), make(chan struct{})
		var all sync.WaitGroup
		for i := range errs {
			in := contract.Enroll{JoinToken: token, CSR: csr(t)}
			all.Go(func() {
				<-start
				_, errs[i] = enrolment.Enroll(t.Context(), in)
			})
		}
		close(start)
		all.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case fault.SlugOf(err) != "join_token_used":
				t.Errorf("refused with %v", err)
			}
		}
		if won != 1 {
			t.Fatalf("%d were enrolled", won)
		}
	}
	list, err := o.Credentials(t.Context(), "n1")
	if err != nil || len(list.Credentials) != 3 {
		t.Errorf("%d certificates were admitted, %v", len(list.Credentials), err)
	}
	r.finish()
}

// A node that waits in a long poll when its certificate is revoked is refused and not answered.
func TestRevocationReachesWhoWaits(t *testing.T) {
	t.Parallel()
	r, enrolment, o := enrolling(t)
	got, err := enrolment.Enroll(t.Context(), contract.Enroll{JoinToken: joinToken(t, o), CSR: csr(t)})
	if err != nil {
		t.Fatal(err)
	}
	node := r.nodeOf("unix:"+r.dir+"/s", "one", "a", got.Fingerprint, nil)
	now, _, err := node.Assignments(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 8)
	for range cap(waited) {
		go func() {
			_, _, err := node.Assignments(t.Context(), now.Version, 3*time.Second)
			waited <- err
		}()
	}
	for range 20 { // by which time most of them wait; whichever does not is refused at the door
		if _, err := node.SigningKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := o.RevokeCredential(t.Context(), "n1", got.Fingerprint, "stolen"); err != nil {
		t.Fatal(err)
	}
	for range cap(waited) {
		if err := <-waited; fault.SlugOf(err) != "credential_revoked" {
			t.Errorf("whoever waited was told %v", err)
		}
	}
	r.finish()
}

// A join token is shown once: who asks again under the same Idempotency-Key gets the same answer without it.
func TestJoinTokenIsShownOnce(t *testing.T) {
	t.Parallel()
	r, _, o := enrolling(t)
	ctx := apiclient.Keyed(t.Context(), "again")
	first, err := o.JoinToken(ctx, "n1", contract.NewJoinToken{ExpiresIn: "5m"})
	if err != nil || !strings.HasPrefix(first.Token, "bj_") {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := o.JoinToken(ctx, "n1", contract.NewJoinToken{ExpiresIn: "5m"})
	if err != nil || again.Token != "" || again.ID != first.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	for text, slug := range map[string]string{"0s": "expiry_out_of_range", "never": "invalid_duration", "25h": "expiry_out_of_range"} {
		if _, err := o.JoinToken(t.Context(), "n1", contract.NewJoinToken{ExpiresIn: text}); fault.SlugOf(err) != slug {
			t.Errorf("%s: %v", text, err)
		}
	}
	r.finish()
}

// Operators rotate and end CA keys by the same operations as those of device tokens, and no key of the CA is in the key
// sets of devices and nodes.
func TestOperatorsRotateRoots(t *testing.T) {
	t.Parallel()
	r, enrolment, o := enrolling(t)
	next, err := o.RotateSigningKey(t.Context(), contract.RotateKey{Purpose: "ca"})
	if err != nil || next.Purpose != "ca" || next.State != "pending" {
		t.Fatalf("%+v, %v", next, err)
	}
	bundle, err := enrolment.TrustBundle(t.Context())
	if err != nil || len(bundle.Roots) != 2 || strings.Count(bundle.PEM, "BEGIN CERTIFICATE") != 2 {
		t.Fatalf("%+v, %v", bundle, err)
	}
	if _, err := o.CompromiseSigningKey(t.Context(), bundle.Roots[0].KID, "leaked"); err != nil {
		t.Fatal(err)
	}
	after, err := enrolment.TrustBundle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, root := range after.Roots {
		if root.KID == bundle.Roots[0].KID {
			t.Error("a compromised root is in the bundle")
		}
	}
	if next, err := o.RotateSigningKey(t.Context(), contract.RotateKey{}); err != nil || next.Purpose != "device-token" {
		t.Errorf("by default %+v, %v", next, err)
	}
	if _, err := o.RotateSigningKey(t.Context(), contract.RotateKey{Purpose: "package"}); fault.SlugOf(err) != "invalid_value" {
		t.Errorf("another purpose: %v", err)
	}
	c, err := apiclient.New(apiclient.Options{Base: r.out.of("api")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	keys, err := apiclient.NewDevice(c).Keys(t.Context())
	if err != nil || len(keys.Keys) != 2 {
		t.Errorf("%+v, %v", keys, err)
	}
	r.finish()
}

// With its key gone the authority signs nothing: a node is told to try again, the token stays unspent, and the replica
// is ready all the same. A new root, which an operator asks for, goes on.
func TestReadyWithoutAnAuthority(t *testing.T) {
	t.Parallel()
	r, enrolment, o := enrolling(t)
	in := contract.Enroll{JoinToken: joinToken(t, o), CSR: csr(t)}
	bundle, err := r.process.Trust.TrustBundle(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := bundle.Roots[0]
	if err := r.process.Ground.KMS.Destroy(t.Context(), signer.KeyRef(root.Ref)); err != nil {
		t.Fatal(err)
	}
	_, err = enrolment.Enroll(t.Context(), in)
	if f, ok := fault.As(err); !ok || f.Slug != "ca_unavailable" || f.Kind != fault.Unavailable || f.RetryAfter <= 0 {
		t.Errorf("without keys: %v", err)
	}
	c, err := apiclient.New(apiclient.Options{Base: r.out.of("api")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Ready(t.Context()); err != nil {
		t.Errorf("the replica is not ready: %v", err)
	}
	if _, err := o.CompromiseSigningKey(t.Context(), root.KID, "its key is gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := enrolment.Enroll(t.Context(), in); err != nil {
		t.Errorf("with a new root: %v", err)
	}
	r.finish()
}

// Whoever guesses at join tokens is slowed down, and a body beyond the bound is not read.
func TestEnrolmentIsLimited(t *testing.T) {
	t.Parallel()
	r, enrolment, _ := enrolling(t, "BERTH_ENROLL_RATE=1", "BERTH_ENROLL_BURST=2")
	_, err := enrolment.Enroll(t.Context(), contract.Enroll{JoinToken: "bj_" + strings.Repeat("a", 32), CSR: strings.Repeat("x", 2<<20)})
	if slug := fault.SlugOf(err); slug != "body_too_large" && slug != "server_unreachable" {
		t.Errorf("a huge body: %v", err)
	}
	var last error
	for range 20 {
		if _, last = enrolment.Enroll(t.Context(), contract.Enroll{JoinToken: "bj_" + strings.Repeat("a", 32), CSR: csr(t)}); fault.SlugOf(last) == "rate_limited" {
			break
		}
	}
	if fault.SlugOf(last) != "rate_limited" {
		t.Errorf("the last of many guesses: %v", last)
	}
	r.finish()
}

// Enrolment is served on its own listener and nowhere else, and nothing else is served there.
func TestEnrolmentIsApart(t *testing.T) {
	t.Parallel()
	r, _, _ := enrolling(t)
	for _, where := range []struct{ base, path string }{
		{r.out.of("api"), "/enroll/v1/trust-bundle"}, {r.out.of("enroll"), "/api/v1/trust-bundle"}, {r.out.of("enroll"), "/trust-bundle"},
		{r.out.of("enroll"), "/internal/v1/peers"}, {r.out.of("enroll"), "/healthz"}, {r.out.of("api"), "/trust-bundle"},
	} {
		resp, err := http.Get(where.base + where.path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s%s answered %d", where.base, where.path, resp.StatusCode)
		}
	}
	if text := r.internal("GET", "/enroll/v1/trust-bundle"); !strings.Contains(text, "path_unknown") {
		t.Errorf("on the internal listener: %s", text)
	}
	http.DefaultClient.CloseIdleConnections()
	r.finish()
}

// Where no address is named, enrolment is not served.
func TestEnrolmentMayBeOff(t *testing.T) {
	t.Parallel()
	r := run(t)
	if url := r.out.of("enroll"); url != "" {
		t.Errorf("it is served at %s", url)
	}
	r.finish()
}
