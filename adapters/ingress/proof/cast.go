package proof

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base32"
	"encoding/pem"
	"fmt"
	"strings"
	"sync"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Operators is what the proof asks of a deployment as an operator.
type Operators interface {
	CreateNode(ctx context.Context, in contract.NewNode) (contract.Node, error)
	ChangeNode(ctx context.Context, node string, in contract.NodeChange) (contract.Node, error)
	RetireNode(ctx context.Context, node string) (contract.Node, error)
	JoinToken(ctx context.Context, node string, in contract.NewJoinToken) (contract.JoinToken, error)
	RevokeCredential(ctx context.Context, node, fingerprint, reason string) (contract.Credential, error)
}

// Enroller gives a node its certificate.
type Enroller interface {
	Enroll(ctx context.Context, in contract.Enroll) (contract.Enrolled, error)
}

// Cast are the nodes that a proof makes for itself: named verify-…, without capacity and cordoned, so that no tenant ever
// comes near them. Clean takes them away again.
type Cast struct {
	Operators Operators
	Enroller  Enroller
	Region    string

	mu      sync.Mutex
	prefix  string
	nodes   []string
	granted []grant // certificates in force
}

type grant struct{ node, fingerprint string }

// reason is what the audit log says of what Clean and the probes revoke.
const reason = "made by berthctl ingress verify"

// NewCast names the nodes of a proof, and makes none yet.
func NewCast(o Operators, e Enroller, region string) *Cast {
	raw := make([]byte, 5)
	_, _ = rand.Read(raw) // never fails
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(raw))
	return &Cast{Operators: o, Enroller: e, Region: region, prefix: "verify-" + suffix + "-"}
}

// Fill makes the nodes that a site's probes need. Where it fails some are made; Clean takes those away.
func (c *Cast) Fill(ctx context.Context, s *Site) error {
	s.Region = c.Region
	for role, member := range map[string]*Member{"first": &s.First, "second": &s.Second} {
		m, _, err := c.enrol(ctx, role)
		if err != nil {
			return err
		}
		*member = m
	}
	if err := s.await(ctx); err != nil {
		return err
	}
	if err := c.end(ctx, s); err != nil {
		return err
	}
	count := 0
	s.Spare = func(ctx context.Context) (Member, func(context.Context) error, error) {
		c.mu.Lock()
		count++
		role := fmt.Sprintf("spare-%d", count)
		c.mu.Unlock()
		return c.Enrol(ctx, role)
	}
	return nil
}

// Enrol makes one more node, and gives what revokes its certificate.
func (c *Cast) Enrol(ctx context.Context, role string) (Member, func(context.Context) error, error) {
	m, g, err := c.enrol(ctx, role)
	return m, func(ctx context.Context) error { return c.revoke(ctx, g) }, err
}

// end makes those whose certificates are not in force any more, each in another way.
func (c *Cast) end(ctx context.Context, s *Site) error {
	revoked, g, err := c.enrol(ctx, "revoked")
	if err == nil {
		err = c.revoke(ctx, g)
	}
	if err != nil {
		return err
	}
	superseded, _, err := c.enrol(ctx, "superseded")
	if err != nil {
		return err
	}
	if err := c.supersede(ctx, s, superseded); err != nil {
		return err
	}
	retired, _, err := c.enrol(ctx, "retired")
	if err == nil {
		_, err = c.Operators.RetireNode(ctx, retired.ID)
	}
	s.Revoked, s.Superseded, s.Retired = &revoked, &superseded, &retired
	return err
}

// await waits until the ingress serves the first node: it may learn of a new root a moment after the node did.
func (s *Site) await(ctx context.Context) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	late := time.After(s.settling())
	for {
		o, err := s.asksFor(ctx, assignments(s.First.ID), s.First)
		if err == nil && o.Status == 200 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-late:
			return orElse(err, trouble("a node that was just enrolled is not served: %s", o))
		case <-tick.C:
		}
	}
}

// supersede enrols a node anew and uses the new certificate, since the old one is in force until then (I5).
func (c *Cast) supersede(ctx context.Context, s *Site, m Member) error {
	next, _, err := c.certify(ctx, m.ID)
	if err != nil {
		return err
	}
	for _, as := range []Member{m, next} {
		if o, err := s.asksFor(ctx, assignments(m.ID), as); err != nil || o.Status != 200 {
			return orElse(err, trouble("a node that was just enrolled is not served: %s", o))
		}
	}
	return nil
}

func (c *Cast) enrol(ctx context.Context, role string) (Member, grant, error) {
	id := c.prefix + role
	c.mu.Lock()
	c.nodes = append(c.nodes, id) // before it is made: its answer may be lost
	c.mu.Unlock()
	if _, err := c.Operators.CreateNode(ctx, contract.NewNode{ID: id, Region: c.Region}); err != nil {
		return Member{}, grant{}, err
	}
	no := false
	if _, err := c.Operators.ChangeNode(ctx, id, contract.NodeChange{Schedulable: &no}); err != nil {
		return Member{}, grant{}, err
	}
	return c.certify(ctx, id)
}

func (c *Cast) certify(ctx context.Context, id string) (Member, grant, error) {
	token, err := c.Operators.JoinToken(ctx, id, contract.NewJoinToken{ExpiresIn: "10m"})
	if err != nil {
		return Member{}, grant{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Member{}, grant{}, err
	}
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return Member{}, grant{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request})
	made, err := c.Enroller.Enroll(ctx, contract.Enroll{JoinToken: token.Token, CSR: string(text)})
	if err != nil {
		return Member{}, grant{}, err
	}
	m := Member{ID: id, Certificate: tls.Certificate{PrivateKey: key}}
	for rest := []byte(made.Certificate + made.Chain); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		m.Certificate.Certificate = append(m.Certificate.Certificate, block.Bytes)
	}
	g := grant{id, made.Fingerprint}
	c.mu.Lock()
	c.granted = append(c.granted, g)
	c.mu.Unlock()
	return m, g, nil
}

func (c *Cast) revoke(ctx context.Context, g grant) error {
	_, err := c.Operators.RevokeCredential(ctx, g.node, g.fingerprint, reason)
	return err
}

// Nodes are those that were made, or may have been.
func (c *Cast) Nodes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.nodes...)
}

// Clean revokes every certificate and retires every node of the cast, whatever became of them, and names those that are
// left behind. It has a time of its own, so that it works where the proof was stopped.
func (c *Cast) Clean(ctx context.Context) (left []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	c.mu.Lock()
	granted := append([]grant(nil), c.granted...)
	c.mu.Unlock()
	for _, g := range granted {
		if err := c.revoke(ctx, g); err != nil && fault.KindOf(err) != fault.NotFound {
			left = append(left, g.node+": its certificate "+g.fingerprint)
		}
	}
	for _, id := range c.Nodes() {
		if _, err := c.Operators.RetireNode(ctx, id); err != nil && fault.KindOf(err) != fault.NotFound && fault.SlugOf(err) != "node_retired" {
			left = append(left, id)
		}
	}
	return left
}
