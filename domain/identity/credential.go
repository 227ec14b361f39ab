package identity

import (
	"time"

	"berth/domain/ident"
)

// CredentialState is where a node's certificate stands in its life (I5).
type CredentialState string

// The states. Superseded and revoked are final.
const (
	CredentialPrepared   CredentialState = "prepared"   // admitted, not used yet: its answer may have been lost
	CredentialCurrent    CredentialState = "current"    // in use; at most one a node
	CredentialSuperseded CredentialState = "superseded" // a later one was used
	CredentialRevoked    CredentialState = "revoked"
)

type credentialEvent string

const (
	credentialUse     credentialEvent = "use"
	credentialReplace credentialEvent = "replace"
	credentialRevoke  credentialEvent = "revoke"
)

// A prepared credential is replaced when a later one is used first: were it left usable, what was lost on the way could
// still push out the certificate that the node works with.
//
//nolint:gochecknoglobals // an immutable table
var credentialEdges = []edge[CredentialState, credentialEvent]{
	{CredentialPrepared, credentialUse, CredentialCurrent},
	{CredentialPrepared, credentialReplace, CredentialSuperseded},
	{CredentialPrepared, credentialRevoke, CredentialRevoked},
	{CredentialCurrent, credentialReplace, CredentialSuperseded},
	{CredentialCurrent, credentialRevoke, CredentialRevoked},
}

// CredentialDiagram returns the state diagram of a node credential.
func CredentialDiagram() []Edge { return diagram(credentialEdges) }

// CredentialRecord is what is kept of a certificate: never its private key (I1).
type CredentialRecord struct {
	Node          string
	SPIFFEID      string
	Fingerprint   string    // as FingerprintOf
	IssuedAt      time.Time // the certificate's not-before
	ExpiresAt     time.Time // the certificate's not-after; never zero
	State         CredentialState
	UsedAt        time.Time // first use; zero before
	RevokedAt     time.Time // zero unless revoked
	RevokedReason string
	AdmittedBy    string // what let it in, such as a join token's id, or RotatedOver of what it was asked for over
}

// Credential is one certificate of a node.
type Credential struct{ record CredentialRecord }

// RestoreCredential makes a credential of what was stored.
func RestoreCredential(record CredentialRecord) *Credential { return &Credential{record: record} }

// Record returns what is to be stored.
func (c *Credential) Record() CredentialRecord { return c.record }

// State returns where the credential stands, whatever its validity.
func (c *Credential) State() CredentialState { return c.record.State }

// Fingerprint returns the certificate's fingerprint.
func (c *Credential) Fingerprint() string { return c.record.Fingerprint }

// InForce tells whether the credential is accepted at an instant: prepared or current, and within its validity.
func (c *Credential) InForce(now time.Time) bool { return c.checkUsable(now) == nil }

// CheckCredential judges the stored credential that has the caller's fingerprint; nil where none has. Unauthenticated:
// credential_unknown, credential_revoked, credential_superseded, credential_not_yet_valid, credential_expired;
// Forbidden: credential_of_another_node, where its SPIFFE id is not exactly the caller's. A prepared credential is
// accepted; the caller then records its first use with Credentials.Use.
//
// The validity is taken as it is, without skew: whoever signs the certificate dates it back.
func CheckCredential(credential *Credential, caller SPIFFEID, now time.Time) error {
	if credential == nil {
		return unauthenticated("credential_unknown", "no such certificate was admitted")
	}
	r := credential.record
	if caller.IsZero() || r.SPIFFEID != caller.String() || r.Node != caller.Node() {
		return forbidden("credential_of_another_node", "the certificate was admitted for another node")
	}
	return credential.checkUsable(now)
}

func (c *Credential) checkUsable(now time.Time) error {
	switch c.record.State {
	case CredentialPrepared, CredentialCurrent:
		return c.checkValidity(now)
	case CredentialRevoked:
		return unauthenticated("credential_revoked", "the certificate is revoked")
	case CredentialSuperseded:
		return unauthenticated("credential_superseded", "a later certificate of this node is in use")
	}
	return unauthenticated("credential_unknown", "no such certificate was admitted")
}

func (c *Credential) checkValidity(now time.Time) error {
	switch {
	case now.Before(c.record.IssuedAt):
		return unauthenticated("credential_not_yet_valid", "the certificate is not valid yet")
	case !now.Before(c.record.ExpiresAt):
		return unauthenticated("credential_expired", "the certificate has expired")
	}
	return nil
}

func (c *Credential) step(event credentialEvent) bool {
	next, ok := step(credentialEdges, c.record.State, event)
	c.record.State = next
	return ok
}

// use makes a prepared credential current. Its guard is CheckCredential's.
func (c *Credential) use(now time.Time) (changed bool, err error) {
	if err := c.checkUsable(now); err != nil {
		return false, err
	}
	if !c.step(credentialUse) {
		return false, nil
	}
	c.record.UsedAt = ident.Instant(now)
	return true, nil
}

// Revoke ends the certificate at once. Revoking again changes nothing, nor does revoking a superseded one, which is
// refused already. Invalid text_out_of_bounds for a reason that is empty or longer than 512 bytes.
func (c *Credential) Revoke(now time.Time, reason string) (changed bool, err error) {
	if f := checkText("reason", reason, maxNote); f != nil {
		return false, f
	}
	if !c.step(credentialRevoke) {
		return false, nil
	}
	c.record.RevokedAt = ident.Instant(now)
	c.record.RevokedReason = reason
	return true, nil
}
