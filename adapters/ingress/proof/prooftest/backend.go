package prooftest

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"berth/adapters/contract"
	"berth/adapters/ingress/proof"
	"berth/domain/fault"
	"berth/domain/identity"
)

// Backend is as much of a control plane as the proof asks for: it believes assertions as berthd does, and keeps what
// reached it.
type Backend struct {
	Secrets identity.IngressSecrets

	mu    sync.Mutex
	known map[string]string // fingerprint to the slug by which it is refused; empty: in force
	seen  []proof.Reached
	woken chan struct{}
}

// Set makes a certificate known, or says by which slug it is refused from now on.
func (b *Backend) Set(fingerprint, slug string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.known == nil {
		b.known, b.woken = map[string]string{}, make(chan struct{})
	}
	b.known[fingerprint] = slug
	close(b.woken)
	b.woken = make(chan struct{})
}

// Seen is what reached it.
func (b *Backend) Seen() []proof.Reached {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]proof.Reached(nil), b.seen...)
}

// ServeHTTP answers as the internal listener does.
func (b *Backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	b.mu.Lock()
	b.seen = append(b.seen, proof.Reached{Target: r.RequestURI, Header: r.Header.Clone(), Body: body})
	b.mu.Unlock()
	switch {
	case err != nil:
		http.Error(w, "the body can not be read", http.StatusBadRequest)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodPost:
		http.Error(w, "no such method", http.StatusMethodNotAllowed)
		return
	}
	if len(r.TransferEncoding) > 0 {
		w.Header().Set("Connection", "close") // net/http reads on where there was a length, too
	}
	if err := b.serve(w, r, body); err != nil {
		problem(w, err)
	}
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, contract.MaxBody))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{}) // or a poll would end with it
	}
	return body, err
}

func (b *Backend) serve(w http.ResponseWriter, r *http.Request, body []byte) error {
	if err := identity.CheckTarget(r.RequestURI); err != nil {
		return err
	}
	node, what, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/internal/v1/nodes/"), "/")
	if !ok || what != "assignments" && what != "authorization/poll" {
		return fault.New(fault.NotFound, "path_unknown", "there is nothing at this path")
	}
	a, err := identity.OpenAssertion(assertions(r.Header), b.Secrets, identity.Arrived{
		Method: r.Method, Target: r.RequestURI, Host: r.Host, BodySHA256: sha256.Sum256(body),
	}, time.Now(), 5*time.Second)
	if err != nil {
		return err
	}
	if err := errors.Join(b.credential(a.Fingerprint), identity.CheckPathNode(a.Caller(), node)); err != nil {
		return err
	}
	return b.answer(w, r, a.Fingerprint, body)
}

func (b *Backend) answer(w http.ResponseWriter, r *http.Request, fingerprint string, body []byte) error {
	if r.URL.RawQuery != "" {
		return fault.New(fault.Invalid, "unknown_field", "no such parameter")
	}
	var in contract.Poll
	if r.Method == http.MethodPost {
		if r.Header.Get("Content-Type") != "application/json" || json.Unmarshal(body, &in) != nil {
			return fault.New(fault.Invalid, "invalid_request", "no poll")
		}
	}
	if in.Wait > 0 {
		b.mu.Lock()
		woken := b.woken
		b.mu.Unlock()
		select {
		case <-woken:
		case <-time.After(time.Duration(in.Wait) * time.Second):
		}
		if err := b.credential(fingerprint); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_, err := io.WriteString(w, `{}`)
	return err
}

func (b *Backend) credential(fingerprint string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	slug, known := b.known[fingerprint]
	switch {
	case !known:
		return fault.New(fault.Unauthenticated, "credential_unknown", "no such certificate")
	case slug == "node_retired":
		return fault.New(fault.Forbidden, slug, "the node is retired")
	case slug != "":
		return fault.New(fault.Unauthenticated, slug, "the certificate is not in force")
	}
	return nil
}

func assertions(header http.Header) []string {
	values := header.Values(contract.HeaderAssertion)
	if len(values) == 0 {
		return nil
	}
	for name, others := range header {
		if name != contract.HeaderAssertion && strings.EqualFold(strings.ReplaceAll(name, "_", "-"), contract.HeaderAssertion) {
			values = append(values, others...)
		}
	}
	return values
}

func problem(w http.ResponseWriter, err error) {
	p := contract.FromFault(err)
	data, _ := json.Marshal(p) // of strings and numbers
	w.Header().Set("Content-Type", contract.ProblemType)
	w.WriteHeader(p.Status)
	_, _ = w.Write(data)
}
