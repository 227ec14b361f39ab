package apiclient

import (
	"crypto/sha256"
	"net/http"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// Proof says who a request comes from.
type Proof interface {
	// Prove adds to the request what proves its sender. The body is what will be sent.
	Prove(r *http.Request, body []byte) error
}

// Bearer is a token that is sent as it is: an operator's, or a device's.
type Bearer string

// Prove adds the token.
func (b Bearer) Prove(r *http.Request, _ []byte) error {
	r.Header.Set("Authorization", "Bearer "+string(b))
	return nil
}

// String never shows the token.
func (Bearer) String() string { return "bearer token" }

// GoString never shows the token.
func (b Bearer) GoString() string { return b.String() }

// Assert makes an ingress assertion about a request: that of a node, where no ingress stands between.
type Assert func(identity.Arrived) (header string, err error)

// Prove adds the assertion.
func (a Assert) Prove(r *http.Request, body []byte) error {
	value, err := a(identity.Arrived{
		Method: r.Method, Target: r.URL.RequestURI(), Host: r.Host, BodySHA256: sha256.Sum256(body),
	})
	if err != nil {
		return err
	}
	r.Header.Set(contract.HeaderAssertion, value)
	return nil
}
