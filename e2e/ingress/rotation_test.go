package ingress_test

import (
	"crypto/tls"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// traffic asks all the time, over kept-alive connections and new ones, until it is stopped; each failure fails the test.
//
// Flows waits until some more was asked, so that a step is not over before traffic met it.
func traffic(t *testing.T, d *deployment) (flows, stop func()) {
	t.Helper()
	ended := make(chan struct{})
	var all sync.WaitGroup
	var asked atomic.Int64
	for i := range 4 {
		m := d.site.First
		if i%2 == 1 {
			m = d.site.Second
		}
		c := callerOf(t, d.site.Ingress, m.Certificate)
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-ended:
					return
				default:
				}
				if n%20 == 0 && i < 2 {
					c.client.CloseIdleConnections()
				}
				if r := c.send("GET", "/internal/v1/nodes/"+m.ID+"/assignments", nil); r.err != nil || r.status != 200 {
					t.Errorf("a request of %s: %s", m.ID, r)
					return
				}
				asked.Add(1)
			}
		})
	}
	flows = func() {
		t.Helper()
		from := asked.Load()
		within(t, "traffic flows", d.ingress, func() bool { return t.Failed() || asked.Load() > from+100 })
	}
	return flows, func() {
		t.Helper()
		close(ended)
		all.Wait()
		t.Logf("%d requests, none refused", asked.Load())
	}
}

// Secrets, the trust bundle and the ingress' own certificate are rotated under traffic, and nothing is refused meanwhile;
// what is old counts for nothing afterwards.
func rotation(t *testing.T, d *deployment) {
	flows, stop := traffic(t, d)
	flows()
	d.rotateSecret(t, flows)
	flows()
	d.rotateCertificate(t)
	flows()
	d.rotateRoots(t)
	flows()
	stop()
}

// rotateSecret: the control plane takes both, the ingress signs by the new one, the old one is retired.
func (d *deployment) rotateSecret(t *testing.T, flows func()) {
	t.Helper()
	old, next := d.secret, newSecret("s2")
	probe := func(s identity.IngressSecret) reply {
		d.secret = s
		header, err := d.forgeAs(d.site.Second, func(p *identity.Payload) {
			p.Target, p.Host = "/internal/v1/nodes/"+d.site.Second.ID+"/assignments", d.host(0)
		})
		must(t, err)
		return callerOf(t, d.internal[0], tls.Certificate{}).
			sendAs(d.host(0), "GET", "/internal/v1/nodes/"+d.site.Second.ID+"/assignments", nil, contract.HeaderAssertion, header)
	}
	probe(next).is(t, "by a secret that is not known yet", 401, "assertion_secret_unknown")
	d.write("secrets.json", secretsText(nil, old, next))
	d.berthd[0].signal(syscall.SIGHUP)
	within(t, "the new secret is known", d.berthd[0], func() bool { return probe(next).status == 200 })
	flows()
	probe(old).is(t, "by the old secret, while both are in force", 200, "")
	d.write("signing.json", secretsText(nil, next, old))
	d.rereads(t)
	flows() // what was signed by the old one has arrived
	d.write("secrets.json", secretsText([]string{old.ID}, next))
	d.berthd[0].signal(syscall.SIGHUP)
	within(t, "the old secret is retired", d.berthd[0], func() bool { return probe(old).slug == "assertion_secret_retired" })
	d.secret = next
}

// rotateCertificate: the next handshake sees the new certificate; connections that are open go on.
func (d *deployment) rotateCertificate(t *testing.T) {
	t.Helper()
	next := d.serverCertificate()
	writeCertificate(t, d.path("front.crt"), d.path("front.key"), next)
	d.ingress.signal(syscall.SIGHUP)
	within(t, "the new certificate is shown", d.ingress, func() bool {
		conn, err := tls.DialWithDialer(dialer(), "tcp", d.site.Ingress.Address,
			&tls.Config{RootCAs: d.roots(), ServerName: "127.0.0.1", Certificates: []tls.Certificate{d.site.First.Certificate}})
		if err != nil {
			return false
		}
		defer conn.Close()
		return string(conn.ConnectionState().PeerCertificates[0].Raw) == string(next.Certificate[0])
	})
	d.write("front.key", "garbage")
	d.ingress.signal(syscall.SIGHUP)
	d.through(t, d.site.Ingress, d.site.First)().is(t, "with garbage for a key", 200, "")
	writeCertificate(t, d.path("front.crt"), d.path("front.key"), next)
}

// rotateRoots: a root that leaves the bundle vouches for nobody from then on, on open connections too; garbage and an
// empty bundle change nothing.
func (d *deployment) rotateRoots(t *testing.T) {
	t.Helper()
	c, err := d.hostile.Issue("spiffe://" + trustDomain + "/relay/" + region + "/careless")
	must(t, err)
	stranger := callerOf(t, d.site.Ingress, c)
	ask := func() reply { return stranger.send("GET", "/internal/v1/nodes/careless/assignments", nil) }
	ask().is(t, "of a root in the bundle", 401, "credential_unknown")
	for _, bad := range []string{"", "garbage", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		d.write("bundle.pem", bad)
		d.ingress.signal(syscall.SIGHUP)
		ask().is(t, "while the bundle is no bundle", 401, "credential_unknown")
	}
	bundle, err := d.enrolment().TrustBundle(t.Context())
	must(t, err)
	d.write("bundle.pem", bundle.PEM)
	d.ingress.signal(syscall.SIGHUP)
	within(t, "the root that left is not believed", d.ingress, func() bool { r := ask(); return r.err != nil || r.slug == "certificate_untrusted" })
	d.writeBundle()
	d.ingress.signal(syscall.SIGHUP)
	within(t, "it is believed again", d.ingress, func() bool { return ask().slug == "credential_unknown" })
}

// rereads lets the ingress read its files anew, and waits until it has taken over what it found.
func (d *deployment) rereads(t *testing.T) {
	t.Helper()
	const says = `msg="read anew"`
	before := strings.Count(d.ingress.output(), says)
	d.ingress.signal(syscall.SIGHUP)
	within(t, "the ingress reads its files anew", d.ingress, func() bool { return strings.Count(d.ingress.output(), says) > before })
}

func dialer() *net.Dialer { return &net.Dialer{Timeout: 5 * time.Second} }
