package identity

import "berth/domain/fault"

// Role is what an operator may do.
type Role string

// The roles; each allows what the one before it allows.
const (
	RoleViewer   Role = "viewer"
	RoleOperator Role = "operator"
	RoleAdmin    Role = "admin"
)

// ParseRole reads a role as API.md spells it; anything else is Invalid role_unknown.
func ParseRole(text string) (Role, error) {
	if Role(text).rank() == 0 {
		return "", fault.New(fault.Invalid, "role_unknown", "a role is viewer, operator or admin").At("role")
	}
	return Role(text), nil
}

// Allows tells whether the role suffices where another is required. An unknown role allows nothing and is never met.
func (r Role) Allows(required Role) bool { return required.rank() > 0 && r.rank() >= required.rank() }

func (r Role) rank() int {
	switch r {
	case RoleViewer:
		return 1
	case RoleOperator:
		return 2
	case RoleAdmin:
		return 3
	}
	return 0
}

// CheckRole refuses a role that does not suffice as Forbidden role_insufficient.
func CheckRole(role, required Role) error {
	if role.Allows(required) {
		return nil
	}
	return fault.New(fault.Forbidden, "role_insufficient", "this needs the role %s", required).
		Curable("use a token with the role %s", required)
}
