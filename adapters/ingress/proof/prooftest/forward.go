package prooftest

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// peer is whom a connection is taken for.
type peer struct {
	id          identity.SPIFFEID
	fingerprint string
}

func (p *Proxy) config() *tls.Config {
	c := &tls.Config{
		Certificates: []tls.Certificate{p.Certificate}, MinVersion: tls.VersionTLS13, NextProtos: []string{"http/1.1"},
		ClientAuth: tls.RequireAnyClientCert, SessionTicketsDisabled: !p.Leaks.Resumes,
		VerifyConnection: func(s tls.ConnectionState) error {
			if p.peer(s) == nil {
				return errors.New("not a node")
			}
			return nil
		},
	}
	if p.Leaks.Old {
		c.MinVersion = tls.VersionTLS12
	}
	if p.Leaks.Resumes {
		// Tickets are opened with a key, and every connection has a configuration of its own.
		c.SetSessionTicketKeys([][32]byte{sha256.Sum256(p.Secret.Key)})
	}
	return c
}

// peer reads a certificate; nil where it is no node's.
func (p *Proxy) peer(s tls.ConnectionState) *peer {
	if len(s.PeerCertificates) == 0 {
		return nil
	}
	c := s.PeerCertificates[0]
	if !p.Leaks.SkipsClientAuth && !p.believed(c) || len(c.URIs) == 0 {
		return nil
	}
	id, err := identity.ParseSPIFFEID(c.URIs[0].String())
	if err != nil || id.TrustDomain() != p.TrustDomain {
		return nil
	}
	sum := sha256.Sum256(c.Raw)
	return &peer{id, fmt.Sprintf("%x", sum)}
}

func (p *Proxy) believed(c *x509.Certificate) bool {
	_, err := c.Verify(x509.VerifyOptions{Roots: p.Roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	if err != nil || p.Leaks.SkipsNames {
		return err == nil
	}
	one := len(c.URIs) == 1 && len(c.DNSNames)+len(c.IPAddresses)+len(c.EmailAddresses) == 0
	use := !c.IsCA && c.KeyUsage == x509.KeyUsageDigitalSignature && slices.Contains(c.ExtKeyUsage, x509.ExtKeyUsageClientAuth)
	return one && use && soundKey(c)
}

func soundKey(c *x509.Certificate) bool {
	switch key := c.PublicKey.(type) {
	case ed25519.PublicKey:
		return true
	case *ecdsa.PublicKey:
		return key.Curve == elliptic.P256() || key.Curve == elliptic.P384()
	}
	return false
}

func normalise(target string) string {
	text, query, found := strings.Cut(target, "?")
	if decoded, err := url.PathUnescape(text); err == nil {
		text = path.Clean("/" + strings.ReplaceAll(decoded, `\`, "/"))
	}
	if found {
		text += "?" + query
	}
	return text
}

// forward sends a request on, with what it says of its sender, and the answer back.
func (p *Proxy) forward(w io.Writer, r request, from *peer) error {
	value, err := p.assert(r, from)
	if err != nil {
		return refusal{400, "request_malformed"}
	}
	u, err := p.take()
	if err != nil {
		return refusal{503, "upstream_unavailable"}
	}
	const patience = 12 * time.Second // longer than a poll waits
	_ = u.conn.SetDeadline(time.Now().Add(patience))
	if _, err := u.conn.Write(p.head(r, value)); err != nil {
		_ = u.conn.Close()
		return refusal{503, "upstream_unavailable"}
	}
	resp, err := http.ReadResponse(u.in, nil)
	if err != nil {
		_ = u.conn.Close()
		return refusal{502, "upstream_failed"}
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || resp.Close {
		_ = u.conn.Close()
	} else {
		p.give(u)
	}
	_, err = fmt.Fprintf(w, "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		resp.Status, resp.Header.Get("Content-Type"), len(body), body)
	return err
}

func (p *Proxy) assert(r request, from *peer) (string, error) {
	id := from.id
	if node, _, ok := strings.Cut(strings.TrimPrefix(r.target, "/internal/v1/nodes/"), "/"); ok && p.Leaks.AssertsPath {
		id, _ = identity.RelayID(p.TrustDomain, id.Region(), node)
	}
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce) // never fails
	now := time.Now()
	return identity.Seal(p.Secret, identity.Payload{
		SPIFFEID: id, Fingerprint: from.fingerprint, Method: r.method, Target: r.target, Host: r.host,
		BodySHA256: sha256.Sum256(r.body), IssuedAt: now, ExpiresAt: now.Add(10 * time.Second), Nonce: nonce,
	})
}

// head is what the control plane gets to read.
func (p *Proxy) head(r request, value string) []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, "%s %s HTTP/1.1\r\nHost: %s\r\n", r.method, r.target, r.host)
	add := func(name, value string) { fmt.Fprintf(&out, "%s: %s\r\n", name, value) }
	sent := false
	for _, l := range r.lines {
		switch name := canonical(l[0]); {
		case name == contract.HeaderAssertion:
			if p.passes(l[0]) {
				sent = true
				add(name, l[1])
			}
		case slices.Contains([]string{"Accept", "Content-Type", "If-None-Match", "Idempotency-Key", "User-Agent"}, l[0]),
			name == "Transfer-Encoding" && p.Leaks.ForwardsCoding:
			add(l[0], l[1])
		}
	}
	if len(r.values("Content-Length")) > 0 {
		add("Content-Length", fmt.Sprint(len(r.body)))
	}
	taken := p.Leaks.ObeysConnection && slices.ContainsFunc(r.values("Connection"), func(v string) bool {
		return strings.Contains(strings.ToLower(v), strings.ToLower(contract.HeaderAssertion))
	})
	if !taken && (!sent || !p.Leaks.TrustsClient) {
		add(contract.HeaderAssertion, value)
	}
	out.WriteString("\r\n")
	out.Write(r.body)
	return out.Bytes()
}

// passes says whether an assertion that the client sent is passed on.
func (p *Proxy) passes(name string) bool {
	if strings.Contains(name, "_") {
		return p.Leaks.ReadsUnderscores
	}
	return p.Leaks.KeepsAssertion || p.Leaks.TrustsClient
}
