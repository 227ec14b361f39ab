package load

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"berth/adapters/contract"
	"berth/domain/identity"
	"berth/e2e/harness"
)

// Node is a relay node and the ingress in front of it, as far as their requests go.
type Node struct {
	ID          string
	Fingerprint string
	Generation  int64
	Sequence    int64

	spiffe identity.SPIFFEID
	secret identity.IngressSecret
}

// NewNode is a node that has a certificate and registered as that generation.
func NewNode(id, region, fingerprint string, generation int64, secret identity.IngressSecret) (*Node, error) {
	spiffe, err := identity.RelayID("berth.test", region, id)
	return &Node{ID: id, Fingerprint: fingerprint, Generation: generation, spiffe: spiffe, secret: secret}, err
}

// Request builds a request of the node; path comes behind /internal/v1. The assertion in it holds for ten seconds.
func (n *Node) Request(method, path string, body []byte, header ...string) ([]byte, error) {
	const bits128, life = 16, 10 * time.Second
	nonce := make([]byte, bits128)
	_, _ = rand.Read(nonce) // never fails
	now := time.Now()
	value, err := identity.Seal(n.secret, identity.Payload{
		SPIFFEID: n.spiffe, Fingerprint: n.Fingerprint, Method: method, Target: "/internal/v1" + path,
		Host: harness.InternalHost, BodySHA256: sha256.Sum256(body), IssuedAt: now, ExpiresAt: now.Add(life), Nonce: nonce,
	})
	header = append([]string{contract.HeaderAssertion, value}, header...)
	return Request(method, "/internal/v1"+path, harness.InternalHost, body, header...), err
}

// Beat builds the next heartbeat.
func (n *Node) Beat() ([]byte, error) {
	n.Sequence++
	body := fmt.Appendf(nil, `{"generation":%d,"sequence":%d,"usage":{"tenants":1,"bytes":1000}}`, n.Generation, n.Sequence)
	return n.Request("POST", "/nodes/"+n.ID+"/heartbeat", body)
}
