package relayload

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

const (
	region    = "eu"
	domain    = "berth.test"             // of the nodes' SPIFFE ids, as the harness has it
	publicURL = "https://api.berth.test" // where devices reach the API, as their assertions have to name it
)

// Site is what a relay node needs around it: a control plane on SQLite and an ingress, each a process of its own.
type Site struct {
	*harness.Server
	tb          testing.TB
	dir         string
	credentials credentials
	hop         *hop
	enroll      string // base URL
	ingress     string // host:port
}

// NewSite starts one; the benchmark's end stops it.
func NewSite(tb testing.TB) *Site {
	tb.Helper()
	dir, err := os.MkdirTemp("", "berth-") // a Unix socket's path must be short
	must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Site{
		Server: harness.Start(tb, "BERTH_PUBLIC_URL="+publicURL, "BERTH_SWEEP_INTERVAL=1s"),
		tb:     tb, dir: dir, credentials: newCredentials(tb, dir),
	}
	s.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: region, Origin: "https://" + originName}, http.StatusCreated, nil)
	socket := s.path("internal.sock")
	s.hop = newHop(tb, socket, s.Socket)
	s.enroll = s.enrolment()
	s.startIngress(socket)
	return s
}

func (s *Site) path(name string) string { return filepath.Join(s.dir, name) }

// enrolment serves enrolment over TLS, as nodes insist on.
func (s *Site) enrolment() string {
	s.tb.Helper()
	to, err := url.Parse(s.Enrolment)
	must(s.tb, err)
	server := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }})
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{s.credentials.own}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	s.tb.Cleanup(server.Close)
	return server.URL
}

func (s *Site) startIngress(upstream string) {
	s.tb.Helper()
	s.ingress = harness.FreeAddresses(s.tb, 1)[0]
	p := run(s.tb, harness.Program(s.tb, "berth-ingress"), prefixed("BERTH_INGRESS_", map[string]string{
		"LISTEN": s.ingress, "METRICS_LISTEN": "off", "CERT_FILE": s.credentials.cert, "KEY_FILE": s.credentials.key,
		"TRUST_BUNDLE_FILE": s.path("bundle.pem"), "TRUST_DOMAIN": domain, "TRUST_BUNDLE_REFRESH": "1s", "UPSTREAM": "unix:" + upstream,
		"SECRETS_FILE": filepath.Join(s.Dir, "ingress.json"), "STOP_GRACE": "2s",
	}))
	p.within(startBound, "it listens", func() bool { return listens(s.ingress) })
}

const startBound = 30 * time.Second

func listens(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err == nil {
		err = c.Close()
	}
	return err == nil
}

func prefixed(prefix string, settings map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range settings {
		out[prefix+name] = value
	}
	return out
}

// Relay is a running berth-relay.
type Relay struct {
	*Process
	ID      string
	Devices string // host:port of the devices' listener
	Metrics string // base URL
}

// Relay defines a node and starts it, with further settings.
func (s *Site) Relay(id string, more map[string]string) *Relay {
	s.tb.Helper()
	s.Operator("POST", "/api/v1/nodes", contract.NewNode{
		ID: id, Region: region, Capacity: contract.Capacity{Tenants: 10_000, Bytes: 1 << 40},
	}, http.StatusCreated, nil)
	var join contract.JoinToken
	s.Operator("POST", "/api/v1/nodes/"+id+"/join-tokens", contract.NewJoinToken{}, http.StatusCreated, &join)
	token := s.path(id + ".join")
	must(s.tb, os.WriteFile(token, []byte(join.Token+"\n"), 0o600))
	at := harness.FreeAddresses(s.tb, 3)
	env := map[string]string{
		"NODE": id, "REGION": region, "TRUST_DOMAIN": domain, "DATA_DIR": s.path(id), "JOIN_TOKEN_FILE": token,
		"CONTROL_URL": "https://" + s.ingress, "ENROLL_URL": s.enroll, "CA_FILE": s.credentials.cert,
		"LISTEN": at[0], "PEER_LISTEN": at[1], "ADVERTISE": at[1], "METRICS_LISTEN": at[2],
		"TLS_CERT_FILE": s.credentials.cert, "TLS_KEY_FILE": s.credentials.key, "STOP_GRACE": "5s",
		// One machine plays all devices, and they are let in as fast as they come.
		"CONNECTIONS_PER_ADDRESS": "1000000", "CONNECTIONS_PER_PRINCIPAL": "10000", "ACCEPT_RATE": "100000",
		"PUBLISH_RATE": "1000000", "TENANT_PUBLISH_RATE": "1000000",
	}
	maps.Copy(env, more)
	r := &Relay{ID: id, Devices: at[0], Metrics: "https://" + at[2]}
	r.Process = run(s.tb, relayProgram(s.tb), prefixed("BERTH_RELAY_", env))
	r.within(startBound, "it is ready", func() bool { return strings.Contains(r.out.String(), "\nready\n") })
	return r
}

// relayProgram is the program under measure: the tree's, unless -relay names another one.
func relayProgram(tb testing.TB) string {
	tb.Helper()
	if *other != "" {
		return *other
	}
	return harness.Program(tb, "berth-relay")
}

// Tenants makes tenants, and waits until all are placed. It returns the node that each is on.
func (s *Site) Tenants(prefix string, count int) (ids, nodes []string) {
	s.tb.Helper()
	for i := range count {
		id := fmt.Sprintf("%s%04d", prefix, i)
		s.Operator("POST", "/api/v1/tenants", contract.NewTenant{ID: id, HomeRegion: region}, http.StatusCreated, nil)
		var t contract.Tenant
		s.Eventually("the tenant is placed", func() bool {
			a := s.Do(s.Token, "GET", "/api/v1/tenants/"+id, nil)
			return json.Unmarshal(a.Body, &t) == nil && t.Placement != nil
		})
		ids, nodes = append(ids, id), append(nodes, t.Placement.Node)
	}
	return ids, nodes
}

// Device is a paired device with a token.
type Device struct {
	harness.Device
	Tenant string
	Bearer string
}

// Paired pairs a device with a tenant.
func (s *Site) Paired(tenant, role string) *Device {
	s.tb.Helper()
	kind := "phone"
	if role == "owner" {
		kind = "desktop"
	}
	d := s.Pair(tenant, role, kind)
	return &Device{Device: d, Tenant: tenant, Bearer: s.DeviceToken(d, publicURL+"/v1/devices/token")}
}

// Endpoint is where a device connects at a node.
func (s *Site) Endpoint(r *Relay, d *Device) Endpoint {
	return Endpoint{
		Address: r.Devices, Path: contract.ConnectPath, Subprotocol: contract.ConnectProtocol, Bearer: d.Bearer, TLS: s.credentials.trust,
	}
}

// Connect opens a device's connection. A node that does not serve the tenant yet is asked again.
func (s *Site) Connect(r *Relay, d *Device) *Socket {
	s.tb.Helper()
	return s.connect(r, s.Endpoint(r, d))
}

func (s *Site) connect(r *Relay, e Endpoint) *Socket {
	s.tb.Helper()
	var out *Socket
	r.within(startBound, "it lets a device of the tenant in", func() bool {
		var err error
		out, err = Open(e)
		if refused, ok := errors.AsType[*Refused](err); ok && soon(refused) {
			return false
		}
		must(s.tb, err)
		return true
	})
	s.tb.Cleanup(out.Close)
	return out
}

// soon says whether a refusal is one that passes by itself: the node does not serve the tenant yet, or has not heard of the
// device.
func soon(r *Refused) bool {
	return r.Status == http.StatusServiceUnavailable || strings.Contains(r.Body, "principal_unknown")
}
