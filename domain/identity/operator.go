package identity

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

const (
	tokenPrefix    = "bt_"
	minTokenSecret = 16 // 128 bits
	maxTokenSecret = 64
	maxTokenName   = 128
)

//nolint:gochecknoglobals // immutable
var tokenBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// OperatorTokenRecord is what is kept of an operator's token: never the token itself.
type OperatorTokenRecord struct {
	ID        string
	Name      string
	Role      Role
	Hash      [32]byte // HashToken of the clear token
	CreatedAt time.Time
	ExpiresAt time.Time // never zero
	RevokedAt time.Time // zero unless revoked
}

// OperatorToken is a bearer token of a person or program that operates Berth.
type OperatorToken struct{ record OperatorTokenRecord }

// NewToken describes a token that is to be made. Clear comes from FormatToken.
type NewToken struct {
	Name      string
	Role      Role
	Clear     string
	ExpiresAt time.Time
}

// NewOperatorToken makes a token. Invalid, each problem named: token_malformed, text_out_of_bounds, role_unknown,
// validity_invalid.
func NewOperatorToken(t NewToken, now time.Time) (*OperatorToken, error) {
	id, ok := tokenID(t.Clear)
	record := OperatorTokenRecord{
		ID: id, Name: t.Name, Role: t.Role, Hash: HashToken(t.Clear),
		CreatedAt: ident.Instant(now), ExpiresAt: ident.Instant(t.ExpiresAt),
	}
	if err := fault.All(
		unless(ok, "token_malformed", "the token is out of form", "token"),
		checkText("name", t.Name, maxTokenName),
		unless(t.Role.rank() > 0, "role_unknown", "a role is viewer, operator or admin", "role"),
		checkPeriod("expires_at", record.CreatedAt, record.ExpiresAt, now),
	); err != nil {
		return nil, err
	}
	return &OperatorToken{record}, nil
}

// RestoreOperatorToken makes a token of what was stored.
func RestoreOperatorToken(record OperatorTokenRecord) *OperatorToken { return &OperatorToken{record} }

// Record returns what is to be stored.
func (t *OperatorToken) Record() OperatorTokenRecord { return t.record }

// Role returns what the token's bearer may do.
func (t *OperatorToken) Role() Role { return t.record.Role }

// Revoke ends the token at once; again, it changes nothing.
func (t *OperatorToken) Revoke(now time.Time) (changed bool) {
	if !t.record.RevokedAt.IsZero() {
		return false
	}
	t.record.RevokedAt = ident.Instant(now)
	return true
}

// Live tells whether the token is neither revoked nor expired.
func (t *OperatorToken) Live(now time.Time) bool { return t.checkLive(now) == nil }

// LiveAdmin tells whether the token closes the door to the bootstrap token: it is live and has the role admin.
func (t *OperatorToken) LiveAdmin(now time.Time) bool {
	return t.record.Role == RoleAdmin && t.Live(now)
}

func (t *OperatorToken) checkLive(now time.Time) error {
	switch {
	case !t.record.RevokedAt.IsZero():
		return unauthenticated("token_revoked", "the token is revoked")
	case !now.Before(t.record.ExpiresAt):
		return unauthenticated("token_expired", "the token has expired")
	}
	return nil
}

// CheckToken judges a bearer token against the stored one that has its id; nil where none has. All refusals are
// Unauthenticated: those of ParseToken, token_unknown, and, to a bearer of the right secret only, token_revoked and
// token_expired. The secret is compared in constant time.
func CheckToken(stored *OperatorToken, text string, now time.Time) error {
	id, err := ParseToken(text)
	if err != nil {
		return err
	}
	if stored == nil {
		stored = &OperatorToken{} // no token has its empty id
	}
	if !TokenMatches(stored.record.Hash, text) || stored.record.ID != id {
		return unauthenticated("token_unknown", "no such token")
	}
	return stored.checkLive(now)
}

// FormatToken writes a token as bt_<id>_<secret in lower-case base32>. The id is 1 to 64 of a-z, 0-9, '-' and '_', the
// secret 16 to 64 random bytes; anything else is Invalid token_malformed.
func FormatToken(id string, secret []byte) (string, error) {
	text := tokenPrefix + id + "_" + tokenBase32.EncodeToString(secret)
	if read, ok := tokenID(text); !ok || read != id {
		return "", fault.New(fault.Invalid, "token_malformed", "a token has an id and a secret of 16 to 64 bytes")
	}
	return text, nil
}

// ParseToken returns the id in a bearer token. Unauthenticated: token_missing where it is empty, token_malformed where
// it is not exactly what FormatToken writes.
func ParseToken(text string) (id string, err error) {
	if text == "" {
		return "", unauthenticated("token_missing", "the request carries no token")
	}
	id, ok := tokenID(text)
	if !ok {
		return "", unauthenticated("token_malformed", "the token is out of form")
	}
	return id, nil
}

func tokenID(text string) (id string, ok bool) {
	rest, found := strings.CutPrefix(text, tokenPrefix)
	i := strings.LastIndexByte(rest, '_')
	if !found || i < 0 {
		return "", false
	}
	id = rest[:i]
	return id, validToken(id) && validTokenSecret(rest[i+1:])
}

// validTokenSecret encodes again, since a decoder accepts more than one spelling of the last bits.
func validTokenSecret(text string) bool {
	secret, err := tokenBase32.DecodeString(text)
	return err == nil && len(secret) >= minTokenSecret && len(secret) <= maxTokenSecret &&
		tokenBase32.EncodeToString(secret) == text
}

// HashToken returns what is stored of a token. One plain SHA-256 is enough, since a token is random and not a password.
func HashToken(text string) [32]byte { return sha256.Sum256([]byte(text)) }

// TokenMatches compares a token with a stored hash in constant time.
func TokenMatches(hash [32]byte, text string) bool {
	got := HashToken(text)
	return subtle.ConstantTimeCompare(hash[:], got[:]) == 1
}

// CheckBootstrap decides whether the bootstrap token, which stands in a file and has no record, still works: only while
// no admin exists. Admins counts the tokens that are LiveAdmin. Forbidden bootstrap_closed.
func CheckBootstrap(admins int) error {
	if admins == 0 {
		return nil
	}
	return fault.New(fault.Forbidden, "bootstrap_closed", "the bootstrap token works only while no admin exists").
		Curable("use an admin's token, and take the bootstrap token away")
}
