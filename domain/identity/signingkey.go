package identity

import (
	"bytes"
	"crypto/ed25519"
	"slices"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// KeyPurpose is what a signing key signs; a key has exactly one (I9).
type KeyPurpose string

// The purposes.
const (
	KeyForDeviceTokens     KeyPurpose = "device-token"
	KeyForDesiredState     KeyPurpose = "desired-state"
	KeyForPackages         KeyPurpose = "package"
	KeyForBackupManifests  KeyPurpose = "backup-manifest"
	KeyForCA               KeyPurpose = "ca"
	KeyForAuditCheckpoints KeyPurpose = "audit-checkpoint"
)

// KeyPurposes returns every purpose, in a fixed order.
func KeyPurposes() []KeyPurpose {
	return []KeyPurpose{
		KeyForDeviceTokens, KeyForDesiredState, KeyForPackages, KeyForBackupManifests, KeyForCA, KeyForAuditCheckpoints,
	}
}

// KeyState is where a signing key stands in its life (I6).
type KeyState string

// The states. Compromised is final; retired can only turn out compromised.
const (
	KeyPending     KeyState = "pending"  // published ahead, signs nothing yet
	KeyActive      KeyState = "active"   // signs; at most one a purpose
	KeyRetiring    KeyState = "retiring" // signs nothing more, what it signed is still good
	KeyRetired     KeyState = "retired"
	KeyCompromised KeyState = "compromised"
)

type keyEvent string

const (
	keyActivate   keyEvent = "activate"
	keyRetire     keyEvent = "retire"
	keyEnd        keyEvent = "end"
	keyCompromise keyEvent = "compromise"
)

// A pending key ends without having signed when its time to sign passed, or a later key took over before it.
//
//nolint:gochecknoglobals // an immutable table
var keyEdges = []edge[KeyState, keyEvent]{
	{KeyPending, keyActivate, KeyActive},
	{KeyActive, keyRetire, KeyRetiring},
	{KeyRetiring, keyEnd, KeyRetired},
	{KeyPending, keyEnd, KeyRetired},
	{KeyPending, keyCompromise, KeyCompromised},
	{KeyActive, keyCompromise, KeyCompromised},
	{KeyRetiring, keyCompromise, KeyCompromised},
	{KeyRetired, keyCompromise, KeyCompromised},
}

// SigningKeyDiagram returns the state diagram of a signing key.
func SigningKeyDiagram() []Edge { return diagram(keyEdges) }

// SigningKeyRecord is what is kept of a signing key: never its private half, which stays where Ref says.
type SigningKeyRecord struct {
	KID         string
	Purpose     KeyPurpose
	PublicKey   []byte // Ed25519, 32 bytes
	Certificate []byte // of a CA key: the root that it signed for itself, DER; empty for any other purpose
	Ref         string // the private key's name in the KMS
	State       KeyState
	NotBefore   time.Time // from here on it may sign, and what it signed is accepted
	SignUntil   time.Time // it signs nothing from here on
	VerifyUntil time.Time // nothing it signed is accepted from here on
	CreatedAt   time.Time
	EndedAt     time.Time // when it was retired or found compromised; zero before
}

// SigningKey is one key of a KeyRing.
type SigningKey struct{ record SigningKeyRecord }

// NewKey names a key that was made in the KMS. NotBefore comes from Action.NotBefore or Windows.NotBefore.
type NewKey struct {
	KID         string // 1 to 128 of A-Z, a-z, 0-9, '-' and '_'
	Purpose     KeyPurpose
	PublicKey   []byte
	Certificate []byte // of a CA key; empty for any other
	Ref         string
	NotBefore   time.Time
}

// NewSigningKey makes a pending key whose times follow from its not-before and the windows; retiring it early brings the
// last two forward. Invalid, each problem named: kid_malformed, key_purpose_unknown, public_key_malformed,
// text_out_of_bounds, key_windows_invalid,
// validity_invalid (no not-before, or one so far back that the key could not sign any more), root_certificate_invalid (a
// CA key without the root of Windows.Root, or another key with one).
func NewSigningKey(k NewKey, w Windows, now time.Time) (*SigningKey, error) {
	now = ident.Instant(now)
	notBefore := ident.Instant(k.NotBefore)
	signUntil := ident.Instant(notBefore.Add(w.Skew + w.SignFor))
	verifyUntil := ident.Instant(signUntil.Add(w.VerifyAfter))
	if err := fault.All(
		unless(validKID(k.KID), "kid_malformed", "a kid is 1 to 128 of A-Z, a-z, 0-9, '-' and '_'", "kid"),
		unless(knownPurpose(k.Purpose), "key_purpose_unknown", "no key has this purpose", "purpose"),
		unless(len(k.PublicKey) == ed25519.PublicKeySize, "public_key_malformed",
			"an Ed25519 public key has 32 bytes", "public_key"),
		checkText("ref", k.Ref, maxNote),
		w.check(),
		checkPeriod("not_before", notBefore, signUntil, now),
		checkRoot(k, now, verifyUntil),
	); err != nil {
		return nil, err
	}
	return &SigningKey{SigningKeyRecord{
		KID: k.KID, Purpose: k.Purpose, PublicKey: bytes.Clone(k.PublicKey), Certificate: bytes.Clone(k.Certificate), Ref: k.Ref,
		State: KeyPending, NotBefore: notBefore, SignUntil: signUntil, VerifyUntil: verifyUntil, CreatedAt: now,
	}}, nil
}

// RestoreSigningKey makes a key of what was stored.
func RestoreSigningKey(record SigningKeyRecord) *SigningKey {
	record.PublicKey, record.Certificate = bytes.Clone(record.PublicKey), bytes.Clone(record.Certificate)
	return &SigningKey{record}
}

// Record returns what is to be stored.
func (k *SigningKey) Record() SigningKeyRecord {
	r := k.record
	r.PublicKey, r.Certificate = bytes.Clone(r.PublicKey), bytes.Clone(r.Certificate)
	return r
}

// KID returns the key's id.
func (k *SigningKey) KID() string { return k.record.KID }

// State returns where the key stands, whatever its windows.
func (k *SigningKey) State() KeyState { return k.record.State }

func (k *SigningKey) inSigningWindow(now time.Time) bool {
	return !now.Before(k.record.NotBefore) && now.Before(k.record.SignUntil)
}

// later orders keys by when they may begin to sign; a key never follows itself.
func (k *SigningKey) later(than *SigningKey) bool {
	if c := k.record.NotBefore.Compare(than.record.NotBefore); c != 0 {
		return c > 0
	}
	return k.record.KID > than.record.KID
}

func (k *SigningKey) step(event keyEvent, now time.Time) error {
	next, ok := step(keyEdges, k.record.State, event)
	if !ok {
		return keyRefused("a key that is %s cannot %s", k.record.State, event)
	}
	k.record.State = next
	if event == keyRetire {
		k.shorten(now)
	}
	if (event == keyEnd || event == keyCompromise) && k.record.EndedAt.IsZero() {
		k.record.EndedAt = ident.Instant(now)
	}
	return nil
}

// shorten ends the windows of a key that signs nothing more from now on: what it signed last ends as long after as it would
// have ended after its sign-until.
func (k *SigningKey) shorten(now time.Time) {
	now = ident.Instant(now)
	if !now.Before(k.record.SignUntil) {
		return
	}
	after := k.record.VerifyUntil.Sub(k.record.SignUntil)
	k.record.SignUntil, k.record.VerifyUntil = now, now.Add(after)
}

func keyRefused(format string, args ...any) *fault.Error {
	return fault.New(fault.Conflict, "key_transition_refused", format, args...)
}

func knownPurpose(p KeyPurpose) bool { return slices.Contains(KeyPurposes(), p) }

func validKID(kid string) bool {
	if kid == "" || len(kid) > 128 {
		return false
	}
	for i := range len(kid) {
		if c := kid[i]; !lowerAlphanumeric(c) && (c < 'A' || c > 'Z') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
