package identity

import (
	"crypto/sha256"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// SecretPurpose is what a secret that works once is for; it begins the slugs of its refusals.
type SecretPurpose string

// The purposes.
const (
	PairingCode SecretPurpose = "pairing_code"
	JoinToken   SecretPurpose = "join_token"

	EnrolmentToken SecretPurpose = "enrolment_token" //nolint:gosec // of a cluster's agent (G1): a name, no secret
	PackageLink    SecretPurpose = "package_link"    // of a delivery package (K1)
)

// known tells whether there is such a purpose.
func (p SecretPurpose) known() bool {
	switch p {
	case PairingCode, JoinToken, EnrolmentToken, PackageLink:
		return true
	}
	return false
}

// OneTimeSecretRecord is what is kept of a secret that works once: never the secret itself.
type OneTimeSecretRecord struct {
	ID        string
	Hash      [32]byte // HashSecret
	Purpose   SecretPurpose
	Subject   string // what it is bound to: the id of a tenant, a node, a deployment or a package
	Grants    string // what it gives, such as a principal's role; may be empty
	CreatedAt time.Time
	ExpiresAt time.Time // never zero
	UsedAt    time.Time // zero before
	UsedBy    [32]byte  // KeyDigest of the key it was used for; zero before, and where it is for none
}

// OneTimeSecret is a secret that works once: a pairing code, for example.
type OneTimeSecret struct{ record OneTimeSecretRecord }

// NewSecret describes a secret that is to work once.
type NewSecret struct {
	ID        string // 1 to 64 of a-z, 0-9, '-' and '_'
	Hash      [32]byte
	Purpose   SecretPurpose
	Subject   string
	Grants    string
	ExpiresAt time.Time
}

// NewOneTimeSecret makes a secret that was not used yet. Invalid, each problem named: id_malformed,
// secret_purpose_unknown, secret_hash_missing, text_out_of_bounds, validity_invalid.
func NewOneTimeSecret(s NewSecret, now time.Time) (*OneTimeSecret, error) {
	record := OneTimeSecretRecord{
		ID: s.ID, Hash: s.Hash, Purpose: s.Purpose, Subject: s.Subject, Grants: s.Grants,
		CreatedAt: ident.Instant(now), ExpiresAt: ident.Instant(s.ExpiresAt),
	}
	if err := fault.All(
		unless(validToken(s.ID), "id_malformed", "an id is 1 to 64 of a-z, 0-9, '-' and '_'", "id"),
		unless(s.Purpose.known(), "secret_purpose_unknown",
			"no secret has this purpose", "purpose"),
		unless(s.Hash != [32]byte{}, "secret_hash_missing", "a secret has a hash", "hash"),
		checkText("subject", s.Subject, maxNote),
		unless(len(s.Grants) <= maxNote, "text_out_of_bounds", "must have at most 512 bytes", "grants"),
		checkPeriod("expires_at", record.CreatedAt, record.ExpiresAt, now),
	); err != nil {
		return nil, err
	}
	return &OneTimeSecret{record}, nil
}

// RestoreOneTimeSecret makes a secret of what was stored.
func RestoreOneTimeSecret(record OneTimeSecretRecord) *OneTimeSecret { return &OneTimeSecret{record} }

// Record returns what is to be stored.
func (s *OneTimeSecret) Record() OneTimeSecretRecord { return s.record }

// Spend uses the secret up. Unauthenticated, with the purpose in front: pairing_code_used, pairing_code_expired and so
// on. Expiry is checked here, at use.
func (s *OneTimeSecret) Spend(now time.Time) error {
	switch {
	case !s.record.UsedAt.IsZero():
		return s.record.Purpose.Used()
	case !now.Before(s.record.ExpiresAt):
		return s.record.Purpose.refuse("expired", "it has expired")
	}
	s.record.UsedAt = ident.Instant(now)
	return nil
}

// SpendBy uses the secret up for a key, by its KeyDigest. The same key may use it again within its life, which changes
// nothing, so that an answer which was lost can be asked for again; any other key is refused as by Spend. Invalid
// public_key_malformed for no key.
func (s *OneTimeSecret) SpendBy(now time.Time, key [32]byte) error {
	if key == [32]byte{} {
		return fault.New(fault.Invalid, "public_key_malformed", "there is no key to use the secret for")
	}
	if s.record.UsedBy == key && now.Before(s.record.ExpiresAt) {
		return nil
	}
	if err := s.Spend(now); err != nil {
		return err
	}
	s.record.UsedBy = key
	return nil
}

// Unknown is the refusal of a secret that nothing is stored for: Unauthenticated pairing_code_unknown and so on.
func (p SecretPurpose) Unknown() error { return p.refuse("unknown", "it is not known") }

// Used is the refusal of a secret that was used already: Unauthenticated pairing_code_used and so on.
func (p SecretPurpose) Used() error { return p.refuse("used", "it was used already") }

func (p SecretPurpose) refuse(how, detail string) *fault.Error {
	return fault.New(fault.Unauthenticated, string(p)+"_"+how, "the secret cannot be used: %s", detail).
		Curable("ask for a new one")
}

// HashSecret returns what a secret is stored and found by, from its canonical text. The purpose is part of it, so that a
// secret of one purpose is unknown to another.
func HashSecret(purpose SecretPurpose, canonical string) [32]byte {
	return sha256.Sum256([]byte("berth/one-time-secret/v1\x00" + string(purpose) + "\x00" + canonical))
}
