package authorization

import (
	"time"
	"unicode"
	"unicode/utf8"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Kind is the sort of device that a principal is.
type Kind string

// The kinds, as API.md spells them.
const (
	Phone   Kind = "phone"
	Desktop Kind = "desktop"
)

// Role is what a principal may do in its tenant.
type Role string

// The roles: an owner may also make routes and revoke others.
const (
	Owner  Role = "owner"
	Member Role = "member"
)

// Status tells whether a principal or a handle is in force. Revoked is final.
type Status string

// The statuses of principals and handles.
const (
	Active  Status = "active"
	Revoked Status = "revoked"
)

// PrincipalRecord is what a store keeps of a device.
type PrincipalRecord struct {
	Tenant          string
	ID              string // unique over all tenants
	Kind            Kind
	Role            Role
	Status          Status
	Name            string
	PublicKey       [32]byte // Ed25519
	Handles         int      // its active handles, so that a revocation knows whether it was given all of them
	CreatedAt       time.Time
	RevokedAt       time.Time // zero while active
	RevokedBy       string    // "operator/<id>" or "principal/<id>"
	RevokedRevision int64     // the revision that the revocation made; zero while active
}

// Principal is one device of a tenant.
type Principal struct{ r PrincipalRecord }

// PrincipalSpec describes a device that wants to be admitted.
type PrincipalSpec struct {
	Tenant    string
	ID        string // given by the control plane
	Kind      Kind
	Role      Role
	Name      string // for people: 1 to 100 printable characters
	PublicKey []byte // Ed25519, 32 bytes
}

// NewPrincipal makes a device that Tenant.Admit can admit. It names every field that is wrong.
// Faults: Invalid invalid_id, invalid_kind, invalid_role, invalid_name, invalid_public_key.
func NewPrincipal(s PrincipalSpec, now time.Time) (*Principal, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return &Principal{PrincipalRecord{
		Tenant: s.Tenant, ID: s.ID, Kind: s.Kind, Role: s.Role, Status: Active, Name: s.Name,
		PublicKey: [32]byte(s.PublicKey), CreatedAt: ident.Instant(now),
	}}, nil
}

// RestorePrincipal is for stores.
func RestorePrincipal(r PrincipalRecord) *Principal { return &Principal{r} }

// Record is the principal's state, for stores and views.
func (p *Principal) Record() PrincipalRecord { return p.r }

// Active says whether the principal is not revoked.
func (p *Principal) Active() bool { return p.r.Status == Active }

func (p *Principal) view() PrincipalView {
	return PrincipalView{ID: p.r.ID, Kind: p.r.Kind, Role: p.r.Role, Status: p.r.Status}
}

func (s PrincipalSpec) check() error {
	return fault.All(
		ident.Check("tenant", s.Tenant), checkMade("id", s.ID),
		must(s.Kind == Phone || s.Kind == Desktop, "invalid_kind", "kind", `must be "phone" or "desktop"`),
		must(s.Role == Owner || s.Role == Member, "invalid_role", "role", `must be "owner" or "member"`),
		must(printable(s.Name), "invalid_name", "name", "must be 1 to 100 printable characters"),
		must(validKey(s.PublicKey), "invalid_public_key", "public_key", "must be an Ed25519 public key of 32 bytes"))
}

func must(ok bool, slug, field, detail string) *fault.Error {
	if ok {
		return nil
	}
	return fault.New(fault.Invalid, slug, "%s", detail).At(field)
}

// checkMade accepts ids of the control plane's own making: a prefix, '_' and a sortable part.
func checkMade(field, id string) *fault.Error {
	ok := len(id) > 0 && len(id) <= ident.MaxName
	for i := 0; ok && i < len(id); i++ {
		c := id[i]
		ok = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	return must(ok, "invalid_id", field, "an id is 1 to 63 of a-z, 0-9, '_' and '-'")
}

func printable(name string) bool {
	const most = 100
	if name == "" || !utf8.ValidString(name) || utf8.RuneCountInString(name) > most {
		return false
	}
	for _, c := range name {
		if !unicode.IsPrint(c) {
			return false
		}
	}
	return true
}

// validKey refuses the all-zero key, which is what a field that nobody filled in looks like.
func validKey(key []byte) bool {
	return len(key) == 32 && [32]byte(key) != [32]byte{}
}
