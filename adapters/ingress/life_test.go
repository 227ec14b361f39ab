package ingress_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"berth/adapters/ingress"
	"berth/domain/fault"
	"berth/domain/identity"
)

// A connection that is kept alive does not outlive the certificate: the next request is refused and the connection closed.
func TestCertificateEndsOnALiveConnection(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	if a := c.ask(get); a.StatusCode != 200 {
		t.Fatalf("answered %d", a.StatusCode)
	}
	w.clock.shift(2 * time.Hour)
	c.write(get) // it may be cut off before it is heard
	if a, err := c.read(); err == nil && (a.StatusCode != 401 || a.slug() != "certificate_expired") {
		t.Errorf("answered %d %s", a.StatusCode, a.text)
	}
	ends(t, c)
	if n := len(w.back.all()); n != 1 {
		t.Errorf("%d requests were passed on", n)
	}
}

// A certificate that ended while its request waited gets a refusal for an answer (I4).
func TestCertificateEndsWhileARequestWaits(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.back.answers(func(b net.Conn, _ arrived) bool {
		w.clock.shift(2 * time.Hour)
		_, _ = io.WriteString(b, plain)
		return true
	})
	c := w.as("n1")
	if a := c.ask(get); a.StatusCode != 401 || a.slug() != "certificate_expired" || !c.closed() {
		t.Errorf("answered %d %s", a.StatusCode, a.text)
	}
}

// A certificate that ended while the body of its request was on its way is asserted no more: the control plane gets nothing.
func TestCertificateEndsWhileABodyArrives(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	c.write("POST /internal/v1/peers HTTP/1.1\r\nHost: berth\r\nContent-Length: 4\r\n\r\nab")
	eventually(t, "the body is read", func() bool { return w.count("berth_ingress_body_bytes") > 0 })
	w.clock.shift(2 * time.Hour)
	c.write("cd")
	if a, err := c.read(); err != nil || a.StatusCode != 401 || a.slug() != "certificate_expired" || !c.closed() {
		t.Errorf("answered %v %s", err, a.text)
	}
	if n := len(w.back.all()); n != 0 {
		t.Errorf("%d requests were passed on", n)
	}
}

// A root that leaves the bundle takes its clients with it at once: those that are idle, and those that wait for an answer,
// who get none but a refusal. A root that is added, or a bundle in another order, disturbs nobody.
func TestRootLeaves(t *testing.T) {
	t.Parallel()
	w := start(t, func(w *world, _ *ingress.Options) { w.clock.frozen = true }) // nothing is found out by looking now and then
	next := newAuthority(t, "next")
	idle, waits := w.as("n1"), w.as("n2")
	idle.ask(get)
	_, err := w.trust.Set(append(next.pem(), w.ca.pem()...))
	must(t, err)
	conn, err := w.dial(next.issue(t, nodeTemplate("spiffe://"+trustDomain+"/relay/eu/n3")))
	must(t, err)
	stays := newClient(t, conn)
	if stays.ask(get).StatusCode != 200 || idle.ask(get).StatusCode != 200 {
		t.Fatal("a root was added, and somebody suffered")
	}
	asked, held := make(chan struct{}), make(chan struct{})
	w.back.answers(func(b net.Conn, _ arrived) bool {
		close(asked)
		<-held
		_, _ = io.WriteString(b, plain)
		return true
	})
	waits.write(post("{}", "Content-Length: 2"))
	<-asked
	if changed, err := w.trust.Set(next.pem()); err != nil || !changed {
		t.Fatalf("changed %v, %v", changed, err)
	}
	a, err := waits.read()
	if err != nil || a.StatusCode != 401 || a.slug() != "certificate_untrusted" {
		t.Errorf("who waited was answered %v %v %s", a.Response, err, a.text)
	}
	close(held)
	ends(t, waits)
	ends(t, idle)
	w.back.answers(says(plain))
	if stays.ask(get).StatusCode != 200 {
		t.Error("the other root's client suffered")
	}
	if !w.refused(w.client("n1")) {
		t.Error("the old root lets in")
	}
}

// A bundle that is garbage, empty or no bundle of authorities never takes the place of a good one.
func TestBadBundles(t *testing.T) {
	t.Parallel()
	w := start(t)
	leaf := w.client("n1")
	good := w.ca.pem()
	for name, text := range map[string][]byte{
		"nothing": nil, "space": []byte(" \n"), "garbage": []byte("garbage"), "garbage first": append([]byte("x\n"), good...),
		"garbage behind": append(bytes.Clone(good), "x"...), "cut off": good[:len(good)-10], "a leaf": pemOf("CERTIFICATE", leaf.Certificate[0]),
		"a key": pemOf("PRIVATE KEY", []byte("x")), "no certificate": pemOf("CERTIFICATE", []byte("x")),
		"one bad": append(bytes.Clone(good), pemOf("CERTIFICATE", leaf.Certificate[0])...),
		"long":    bytes.Repeat([]byte("\n"), 2<<20),
		// A decoder goes on to the next block by itself.
		"one garbled": append(bytes.Replace(good, []byte("\nM"), []byte("\n?"), 1), good...),
	} {
		changed, err := w.trust.Set(text)
		if changed || fault.SlugOf(err) != "trust_bundle_malformed" {
			t.Errorf("%s: changed %v, %v", name, changed, err)
		}
	}
	if a := w.as("n1").ask(get); a.StatusCode != 200 {
		t.Errorf("answered %d", a.StatusCode)
	}
	if changed, err := w.trust.Set(append(good, good...)); changed || err != nil {
		t.Errorf("the same root twice: changed %v, %v", changed, err)
	}
}

// The first secret of the file seals, from the moment that it is there.
func TestSecretsRotate(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	c.ask(get)
	w.setSecrets(secretsOf(t, "s2", "s1"))
	c.ask(get)
	for i, want := range []string{"s1", "s2"} {
		proof, err := w.proven(w.back.all()[i])
		if err != nil || proof.SecretID != want {
			t.Errorf("request %d was sealed with %s: %v", i, proof.SecretID, err)
		}
	}
}

// A clock that is ahead or behind is the assertion's, so that the control plane notices (lesson 23).
func TestAssertionCarriesTheClock(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	for by, slug := range map[time.Duration]string{-20 * time.Second: "assertion_expired", 20 * time.Second: "assertion_from_future", 3 * time.Second: "internal"} {
		w.clock.shift(by)
		before := len(w.back.all())
		c.ask(get)
		got := w.back.all()[before]
		w.clock.shift(0)
		if _, err := w.proven(got); fault.SlugOf(err) != slug && (err != nil || slug != "internal") {
			t.Errorf("by %s: %v", by, err)
		}
	}
}

// poll is a POST that changes nothing.
const poll = "POST /internal/v1/nodes/n1/authorization/poll HTTP/1.1\r\nHost: berth\r\nContent-Length: 2\r\n\r\n{}"

// A stop finishes what was accepted, answers what only waits, and takes nothing new.
func TestStop(t *testing.T) {
	t.Parallel()
	w := start(t)
	writes, waits, polls, idle := w.as("n1"), w.as("n2"), w.as("n4"), w.as("n3")
	idle.ask(get)
	asked, held := make(chan struct{}, 3), make(chan struct{})
	w.back.answers(func(b net.Conn, a arrived) bool {
		asked <- struct{}{}
		<-held
		_, _ = io.WriteString(b, plain)
		return true
	})
	writes.write(post("{}", "Content-Length: 2"))
	waits.write(get)
	polls.write(poll)
	for range 3 {
		<-asked
	}
	w.stop()
	for what, c := range map[string]*client{"what only waits": waits, "a poll": polls} {
		a, err := c.read()
		if err != nil || a.StatusCode != 503 || a.slug() != "ingress_stopping" || a.Header.Get("Retry-After") != "1" {
			t.Errorf("%s was answered %v %v", what, a.Response, err)
		}
	}
	ends(t, idle)
	eventually(t, "no connection is taken", func() bool {
		conn, err := net.Dial("tcp", w.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	close(held)
	if a, err := writes.read(); err != nil || a.StatusCode != 200 {
		t.Errorf("what was accepted was answered %v %v", a.Response, err)
	}
	err := <-w.done
	w.done <- nil // for the cleanup, which waits for it, too
	must(t, err)
}

// The log tells of each request, and of no secret: no assertion, no header, no query, no body (lesson: access logs leak).
func TestAccessLog(t *testing.T) {
	t.Parallel()
	w := start(t)
	c := w.as("n1")
	c.ask("POST /internal/v1/nodes/n1/heartbeat?token=query-secret HTTP/1.1\r\nHost: berth\r\nAuthorization: header-secret\r\n" +
		"Idempotency-Key: key-secret\r\nContent-Length: 11\r\n\r\nbody-secret")
	c.ask("GET /internal/v1/a//b?token=query-secret HTTP/1.1\r\nHost: berth\r\n\r\n")
	_, _ = io.WriteString(w.as("n1"), "GET http://user:path-secret@berth/"+strings.Repeat("x", 1000)+" HTTP/1.1\r\nHost: berth\r\n\r\n")
	eventually(t, "the third is logged", func() bool { return strings.Count(w.log.String(), "slug=target_ambiguous") == 2 })
	assertion := w.back.one().assertions()[0]
	text := w.log.String()
	for _, want := range []string{
		"request=req_back node=" + n1 + " method=POST path=/internal/v1/nodes/n1/heartbeat status=200 bytes=2",
		"path=/internal/v1/a//b status=422", "slug=target_ambiguous",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %q: %s", want, text)
		}
	}
	for _, secret := range []string{"query-secret", "header-secret", "key-secret", "body-secret", "path-secret", assertion, strings.Split(assertion, ".")[2]} {
		if strings.Contains(text, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
	if w.count("berth_ingress_requests_total", "POST", "2xx") != 1 || w.count("berth_ingress_requests_total", "GET", "4xx") != 2 ||
		w.count("berth_ingress_refusals_total", "target_ambiguous") != 2 || w.count("berth_ingress_request_seconds") != 3 {
		t.Error("the requests are not counted")
	}
}

func (w *world) setSecrets(s identity.IngressSecrets) {
	w.secretsMu.Lock()
	defer w.secretsMu.Unlock()
	w.secrets = s
}

func (w *world) getSecrets() identity.IngressSecrets {
	w.secretsMu.Lock()
	defer w.secretsMu.Unlock()
	return w.secrets
}
