package ingress_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress/proof"
	"berth/domain/identity"
)

// reply is an answer, or why there was none.
type reply struct {
	status int
	slug   string
	body   []byte
	err    error
}

func (r reply) String() string { return fmt.Sprintf("%d %s %v", r.status, r.slug, r.err) }

// caller sends requests to one listener.
type caller struct {
	base   string
	client *http.Client
}

// callerOf is a client of an endpoint that shows a certificate, unless that is empty.
func callerOf(tb testing.TB, e *proof.Endpoint, show tls.Certificate) *caller {
	tb.Helper()
	config := &tls.Config{RootCAs: e.Roots, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS13}
	if e.Own != nil {
		show = *e.Own
	}
	if len(show.Certificate) > 0 {
		config.Certificates = []tls.Certificate{show}
	}
	transport := &http.Transport{TLSClientConfig: config, MaxIdleConnsPerHost: 16}
	base := "https://" + e.Address
	if e.Network == "unix" {
		base = "http://berth.internal"
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", e.Address)
		}
	}
	tb.Cleanup(transport.CloseIdleConnections)
	return &caller{base, &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

func (c *caller) send(method, path string, body []byte, header ...string) reply {
	return c.sendAs("", method, path, body, header...)
}

// sendAs is send that names another host than the one it goes to.
func (c *caller) sendAs(host, method, path string, body []byte, header ...string) reply {
	r, err := http.NewRequest(method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return reply{err: err}
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	} else {
		r.Body = http.NoBody
	}
	r.Host = host
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	var p contract.Problem
	if resp.Header.Get("Content-Type") == contract.ProblemType && json.Unmarshal(data, &p) != nil {
		err = fmt.Errorf("no problem: %s", data)
	}
	return reply{status: resp.StatusCode, slug: p.Slug(), body: data, err: err}
}

func (r reply) is(tb testing.TB, what string, status int, slug string) {
	tb.Helper()
	if r.err != nil || r.status != status || r.slug != slug {
		tb.Errorf("%s: %s, want %d %s\n%s", what, r, status, slug, r.body)
	}
}

// through is a node as it asks the ingress.
func (d *deployment) through(tb testing.TB, e *proof.Endpoint, m proof.Member) func() reply {
	c := callerOf(tb, e, m.Certificate)
	return func() reply { return c.send("GET", "/internal/v1/nodes/"+m.ID+"/assignments", nil) }
}

func fingerprint(m proof.Member) string {
	sum := sha256.Sum256(m.Certificate.Certificate[0])
	return hex.EncodeToString(sum[:])
}

// registers asserts the registration of a node's process, straight to the internal listener, and gives its header.
func (d *deployment) registers(tb testing.TB, m proof.Member, boot string, bend func(*identity.Payload)) (body []byte, header string) {
	tb.Helper()
	body, err := json.Marshal(contract.Register{BootID: boot, StorageID: "disk-" + m.ID, Version: "test", Advertise: "n.test:1"})
	must(tb, err)
	header, err = d.forgeAs(m, func(p *identity.Payload) {
		p.Method, p.Target, p.BodySHA256 = "POST", "/internal/v1/nodes/"+m.ID+"/register", sha256.Sum256(body)
		if bend != nil {
			bend(p)
		}
	})
	must(tb, err)
	return body, header
}

// spare is a node of a test's own.
func (d *deployment) spare(tb testing.TB) (proof.Member, func()) {
	tb.Helper()
	m, revoke, err := d.site.Spare(tb.Context())
	must(tb, err)
	return m, func() { tb.Helper(); must(tb, revoke(context.Background())) }
}
