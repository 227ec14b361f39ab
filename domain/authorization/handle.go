package authorization

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Digest is the SHA-256 of a clear route handle's text, the only form in which Berth keeps and tells it (A8).
type Digest [sha256.Size]byte

// String returns 64 lower-case hex digits.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

const (
	handlePrefix    = "h_"
	leastHandleSize = 16 // 128 bits (R3)
	mostHandleSize  = 64
)

// FormatHandle writes a clear handle: "h_" and the random bytes in unpadded base64url. The bytes come from a
// cryptographic source, 16 to 64 of them. Fault: Internal handle_entropy.
func FormatHandle(random []byte) (string, error) {
	if len(random) < leastHandleSize || len(random) > mostHandleSize {
		return "", fault.New(fault.Internal, "handle_entropy", "a handle is made of %d to %d random bytes, not %d",
			leastHandleSize, mostHandleSize, len(random))
	}
	return handlePrefix + base64.RawURLEncoding.EncodeToString(random), nil
}

// ParseHandle returns the digest of a clear handle as a frame names it. Only the exact text that FormatHandle writes is
// accepted, so that one handle has one digest. Fault: Invalid invalid_handle; it does not repeat the handle.
func ParseHandle(handle string) (Digest, error) {
	text, ok := strings.CutPrefix(handle, handlePrefix)
	if !ok || len(text) > base64.RawURLEncoding.EncodedLen(mostHandleSize) {
		return Digest{}, errHandle()
	}
	random, err := base64.RawURLEncoding.DecodeString(text)
	// The decoder skips line breaks and tolerates stray trailing bits; writing it again does not.
	if err != nil || len(random) < leastHandleSize || base64.RawURLEncoding.EncodeToString(random) != text {
		return Digest{}, errHandle()
	}
	return sha256.Sum256([]byte(handle)), nil
}

func errHandle() error {
	return fault.New(fault.Invalid, "invalid_handle", `a route handle is "h_" and base64url of %d to %d bytes`,
		leastHandleSize, mostHandleSize).At("handle")
}

// HandleRecord is what a store keeps of a route handle.
type HandleRecord struct {
	Tenant          string
	Digest          Digest
	Principal       string
	Route           string
	Status          Status
	CreatedAt       time.Time
	RevokedAt       time.Time // zero while active
	RevokedRevision int64     // zero while active
}

// Handle is a capability of one principal on one route (A8).
type Handle struct{ r HandleRecord }

// NewHandle makes a handle that Tenant.Admit or Tenant.Grant can put in force.
// Fault: NotFound route_not_found when the route is of another tenant than the principal.
func NewHandle(digest Digest, p *Principal, route Route, now time.Time) (*Handle, error) {
	if route.r.Tenant != p.r.Tenant {
		return nil, fault.New(fault.NotFound, "route_not_found", "the tenant has no such route")
	}
	return &Handle{HandleRecord{
		Tenant: p.r.Tenant, Digest: digest, Principal: p.r.ID, Route: route.r.ID, Status: Active,
		CreatedAt: ident.Instant(now),
	}}, nil
}

// RestoreHandle is for stores.
func RestoreHandle(r HandleRecord) *Handle { return &Handle{r} }

// Record is the handle's state, for stores and views.
func (h *Handle) Record() HandleRecord { return h.r }

func (h *Handle) view() HandleView {
	return HandleView{SHA256: h.r.Digest, Principal: h.r.Principal, Route: h.r.Route, Status: h.r.Status}
}

func (h *Handle) of(p *Principal) bool { return h.r.Tenant == p.r.Tenant && h.r.Principal == p.r.ID }
