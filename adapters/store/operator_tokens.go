package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/identity"
	port "berth/ports/store"
)

type operatorTokenRow struct {
	bun.BaseModel `bun:"table:operator_tokens,alias:t"`

	ID        string  `bun:"id,pk"`
	Name      string  `bun:"name"`
	Role      string  `bun:"role"`
	Hash      []byte  `bun:"hash"`
	CreatedAt instant `bun:"created_at"`
	ExpiresAt instant `bun:"expires_at"`
	RevokedAt instant `bun:"revoked_at"`
}

func operatorTokenTable() table[*identity.OperatorToken, operatorTokenRow] {
	return table[*identity.OperatorToken, operatorTokenRow]{
		thing: "token", key: "id",
		row: always(func(v *identity.OperatorToken) operatorTokenRow {
			r := v.Record()
			return operatorTokenRow{
				ID: r.ID, Name: r.Name, Role: string(r.Role), Hash: r.Hash[:], CreatedAt: instant(r.CreatedAt),
				ExpiresAt: instant(r.ExpiresAt), RevokedAt: instant(r.RevokedAt),
			}
		}),
		value: func(r operatorTokenRow) (*identity.OperatorToken, error) {
			hash, err := bytes32(r.Hash)
			return identity.RestoreOperatorToken(identity.OperatorTokenRecord{
				ID: r.ID, Name: r.Name, Role: identity.Role(r.Role), Hash: hash, CreatedAt: time.Time(r.CreatedAt),
				ExpiresAt: time.Time(r.ExpiresAt), RevokedAt: time.Time(r.RevokedAt),
			}), err
		},
	}
}

type operatorTokens struct {
	aggregate[*identity.OperatorToken, operatorTokenRow]
}

func (t operatorTokens) List(ctx context.Context, p port.Page) ([]*identity.OperatorToken, error) {
	return t.page(ctx, p, whole)
}

func (t operatorTokens) Admins(ctx context.Context, now time.Time) (int, error) {
	n, err := t.t.number(ctx, "SELECT count(*) FROM operator_tokens WHERE role = ? AND revoked_at IS NULL AND expires_at > ?",
		string(identity.RoleAdmin), micros(now))
	return int(n), err
}
