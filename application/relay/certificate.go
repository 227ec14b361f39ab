package relay

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/authority"
	"berth/ports/engine"
)

// credential is a certificate that was judged, with its key.
type credential struct {
	engine.Credential
	identity.NodeCertificate
	renewAt time.Time
}

// newKey makes a key of the node's own randomness.
func (c chance) newKey() ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(c.Secret(ed25519.SeedSize))
}

// request is a certificate request by the key. It names nobody: who a node is, the control plane knows (I5).
func request(key ed25519.PrivateKey) ([]byte, error) {
	// Ed25519 signs without randomness.
	der, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fault.New(fault.Internal, "request_failed", "the certificate request can not be made").Because(err)
	}
	return der, nil
}

// read judges a certificate as the node's own, whatever the time: it is of the key and of the node's own SPIFFE id.
// Fault: Invalid certificate_unusable.
func (k *keeper) read(c engine.Credential) (*credential, error) {
	if len(c.Chain) == 0 || len(c.Key) != ed25519.PrivateKeySize {
		return nil, unusable("it or its key is missing", nil)
	}
	certificate, err := identity.ReadNodeCertificate(c.Chain[0])
	if err != nil {
		return nil, unusable("it is out of form", err)
	}
	public, ok := certificate.PublicKey.(ed25519.PublicKey)
	if !ok || !bytes.Equal(public, c.Key.Public().(ed25519.PublicKey)) { //nolint:errcheck,forcetypeassert // an Ed25519 key has no other half
		return nil, unusable("it is of another key", nil)
	}
	if certificate.SPIFFEID != k.settings.Self {
		return nil, unusable("it is of "+certificate.SPIFFEID.String()+" and not of "+k.settings.Self.String(), nil)
	}
	share := float64(k.chance.upTo(time.Hour)) / float64(time.Hour)
	return &credential{Credential: c, NodeCertificate: certificate, renewAt: certificate.RenewAt(share)}, nil
}

// issued judges a certificate that was just given for a key: it is in force by the clock of who gave it.
func (k *keeper) issued(in authority.Issued, key ed25519.PrivateKey) (*credential, error) {
	c, err := k.read(engine.Credential{Chain: in.Chain, Key: key})
	if err != nil {
		return nil, err
	}
	if !c.InForce(in.ServerTime) {
		return nil, unusable("it is not valid at the time of who gave it", nil)
	}
	return c, nil
}

func unusable(why string, err error) error {
	return fault.New(fault.Invalid, "certificate_unusable", "the certificate can not be this node's: %s", why).Because(err)
}

// endsCredential says whether a refusal means that the certificate is accepted no more.
func endsCredential(err error) bool {
	switch fault.SlugOf(err) {
	case "credential_unknown", "credential_revoked", "credential_superseded", "credential_expired", "credential_of_another_node":
		return true
	}
	return false
}

// spent says whether a refusal means that a join token is worth nothing any more.
func spent(err error) bool {
	switch fault.SlugOf(err) {
	case "join_token_unknown", "join_token_used", "join_token_expired", "join_token_malformed":
		return true
	}
	return false
}
