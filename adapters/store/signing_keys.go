package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/identity"
)

type signingKeyRow struct {
	bun.BaseModel `bun:"table:relay_signing_keys,alias:k"`

	KID         string  `bun:"kid,pk"`
	Purpose     string  `bun:"purpose"`
	PublicKey   []byte  `bun:"public_key"`
	Certificate []byte  `bun:"certificate"` // NULL for none
	Ref         string  `bun:"private_key_ref"`
	State       string  `bun:"state"`
	NotBefore   instant `bun:"not_before"`
	SignUntil   instant `bun:"sign_until"`
	VerifyUntil instant `bun:"verify_until"`
	CreatedAt   instant `bun:"created_at"`
	EndedAt     instant `bun:"ended_at"`
}

func signingKeyTable() table[*identity.SigningKey, signingKeyRow] {
	return table[*identity.SigningKey, signingKeyRow]{
		thing: "signing_key", key: "kid",
		row: always(func(v *identity.SigningKey) signingKeyRow {
			r := v.Record()
			return signingKeyRow{
				KID: r.KID, Purpose: string(r.Purpose), PublicKey: append([]byte{}, r.PublicKey...),
				Certificate: append([]byte(nil), r.Certificate...), Ref: r.Ref, State: string(r.State),
				NotBefore: instant(r.NotBefore), SignUntil: instant(r.SignUntil), VerifyUntil: instant(r.VerifyUntil),
				CreatedAt: instant(r.CreatedAt), EndedAt: instant(r.EndedAt),
			}
		}),
		value: always(func(r signingKeyRow) *identity.SigningKey {
			return identity.RestoreSigningKey(identity.SigningKeyRecord{
				KID: r.KID, Purpose: identity.KeyPurpose(r.Purpose), PublicKey: append([]byte{}, r.PublicKey...),
				Certificate: append([]byte(nil), r.Certificate...), Ref: r.Ref, State: identity.KeyState(r.State),
				NotBefore: time.Time(r.NotBefore), SignUntil: time.Time(r.SignUntil),
				VerifyUntil: time.Time(r.VerifyUntil), CreatedAt: time.Time(r.CreatedAt), EndedAt: time.Time(r.EndedAt),
			})
		}),
	}
}

type signingKeys struct {
	aggregate[*identity.SigningKey, signingKeyRow]
}

func (k signingKeys) OfPurpose(ctx context.Context, purpose identity.KeyPurpose) ([]*identity.SigningKey, error) {
	return k.list(ctx, func(q *bun.SelectQuery) *bun.SelectQuery {
		return q.Where("purpose = ?", string(purpose)).OrderExpr("kid")
	})
}
