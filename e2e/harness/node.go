package harness

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"time"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// Node plays a relay node and the ingress in front of the control plane.
type Node struct {
	s           *Server
	ID          string
	SPIFFE      string
	Fingerprint string
	Generation  int64
	Sequence    int64
}

// Through lets the ingress send what this node asks for to another replica from now on.
func (n *Node) Through(s *Server) *Node { n.s = s; return n }

// At is this node as another replica sees it. Its beats are not counted by the node itself.
func (n *Node) At(s *Server) *Node { other := *n; return other.Through(s) }

// NewNode defines a node with room for tenants, admits a certificate for it, registers it and beats once.
func (s *Server) NewNode(id, region string, tenants int64) *Node {
	s.t.Helper()
	n := s.DefineNode(id, region, tenants)
	n.Register("boot-1")
	n.Beat()
	return n
}

// DefineNode defines a node and admits a certificate for it.
func (s *Server) DefineNode(id, region string, tenants int64) *Node {
	s.t.Helper()
	s.Operator("POST", "/api/v1/nodes", contract.NewNode{
		ID: id, Region: region, Capacity: contract.Capacity{Tenants: tenants, Bytes: 1 << 40},
	}, 201, nil)
	n := &Node{s: s, ID: id, SPIFFE: "spiffe://berth.test/relay/" + region + "/" + id}
	n.Fingerprint = n.Admit(time.Now().Add(-time.Minute), time.Now().Add(24*time.Hour))
	return n
}

// Admit makes a certificate with the given validity, lets an operator admit it, and returns its fingerprint.
func (n *Node) Admit(from, until time.Time) string {
	n.s.t.Helper()
	der := Certificate(n.SPIFFE, from, until)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	n.s.Operator("POST", "/api/v1/nodes/"+n.ID+"/credentials", contract.NewCredential{Certificate: string(text)}, 201, nil)
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// Certificate makes a self-signed certificate for a SPIFFE id.
func Certificate(spiffe string, from, until time.Time) []byte {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	id, err := url.Parse(spiffe)
	if err != nil {
		panic(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "node"}, NotBefore: from, NotAfter: until,
		URIs: []*url.URL{id}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		panic(err)
	}
	return der
}

// Register registers a process and keeps its generation.
func (n *Node) Register(boot string) {
	n.s.t.Helper()
	var out contract.Registered
	n.Call("POST", "/nodes/"+n.ID+"/register", contract.Register{
		BootID: boot, StorageID: "disk-" + n.ID, Version: "test", Advertise: n.ID + ".test:8443",
	}, 200, &out)
	n.Generation, n.Sequence = out.Generation, 0
}

// Beat sends the next heartbeat.
func (n *Node) Beat() contract.Lease {
	n.s.t.Helper()
	n.Sequence++
	var out contract.Lease
	n.Call("POST", "/nodes/"+n.ID+"/heartbeat", contract.Heartbeat{Generation: n.Generation, Sequence: n.Sequence}, 200, &out)
	return out
}

// Assignments returns the node's assignments by tenant.
func (n *Node) Assignments() map[string]contract.Assignment {
	n.s.t.Helper()
	var out contract.Assignments
	n.Call("GET", "/nodes/"+n.ID+"/assignments", nil, 200, &out)
	by := map[string]contract.Assignment{}
	for _, a := range out.Placements {
		by[a.Tenant] = a
	}
	return by
}

// Payload is the honest assertion of a request, for tests to bend.
func (n *Node) Payload(method, path string, body []byte) identity.Payload {
	now := time.Now()
	sum := sha256.Sum256(body)
	id, err := identity.ParseSPIFFEID(n.SPIFFE)
	must(n.s.t, err)
	return identity.Payload{
		SPIFFEID: id, Fingerprint: n.Fingerprint, Method: method, Target: "/internal/v1" + path, Host: InternalHost,
		BodySHA256: sum, IssuedAt: now, ExpiresAt: now.Add(10 * time.Second),
		Nonce: random(16),
	}
}

// InternalHost is what the ingress names the control plane by.
const InternalHost = "internal.berth.test"

// Do sends a request as the ingress would for this node.
func (n *Node) Do(method, path string, body any, header ...string) Answer {
	n.s.t.Helper()
	a := n.Ask(context.Background(), method, path, body, header...)
	n.s.expected(a)
	return a
}

// Ask is Do for where a failure is no surprise: its error is in the answer, and nothing is checked.
func (n *Node) Ask(ctx context.Context, method, path string, body any, header ...string) Answer {
	data := bytesOf(body)
	value, err := identity.Seal(n.s.Secret, n.Payload(method, path, data))
	if err != nil {
		return Answer{Err: err}
	}
	return n.s.asIngress(ctx, method, path, data, append(header, contract.HeaderAssertion, value)...)
}

// Internal sends a request to the internal listener with exactly these headers.
func (s *Server) Internal(method, path string, body []byte, header ...string) Answer {
	s.t.Helper()
	a := s.asIngress(context.Background(), method, path, body, header...)
	s.expected(a)
	return a
}

func (s *Server) expected(a Answer) {
	s.t.Helper()
	must(s.t, a.Err)
	s.conforms(s.ingress, s.inside, a)
}

func (s *Server) asIngress(ctx context.Context, method, path string, body []byte, header ...string) Answer {
	req, err := http.NewRequestWithContext(ctx, method, s.inside+"/internal/v1"+path, bytes.NewReader(body))
	if err != nil {
		return Answer{Err: err}
	}
	if len(body) == 0 {
		req.Body = http.NoBody
		setHeaders(req, nil, header)
	} else {
		setHeaders(req, body, header)
	}
	return send(s.ingress, req)
}

// Call is Do that expects a status and decodes the answer.
func (n *Node) Call(method, path string, body any, status int, out any) {
	n.s.t.Helper()
	n.s.expect(n.Do(method, path, body), n.ID+": "+method+" "+path, status, out)
}

// Refused is Do that expects a slug.
func (n *Node) Refused(method, path string, body any, status int, slug string) {
	n.s.t.Helper()
	if a := n.Do(method, path, body); a.Status != status || a.Slug() != slug {
		n.s.t.Fatalf("%s: %s %s: %d %q, want %d %q\n%s", n.ID, method, path, a.Status, a.Slug(), status, slug, a.Body)
	}
}

func bytesOf(body any) []byte {
	r := reader(body)
	if r == nil {
		return nil
	}
	data, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return data
}
