package store

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/uptrace/bun"

	"berth/domain/identity"
)

type secretRow struct {
	bun.BaseModel `bun:"table:one_time_secrets,alias:s"`

	Hash      string  `bun:"hash,pk"` // lower-case hex
	ID        string  `bun:"id"`
	Purpose   string  `bun:"purpose"`
	Subject   string  `bun:"subject"`
	Grants    string  `bun:"grants"`
	CreatedAt instant `bun:"created_at"`
	ExpiresAt instant `bun:"expires_at"`
	UsedAt    instant `bun:"used_at"`
	UsedBy    []byte  `bun:"used_by"` // NULL for nobody
}

func secretTable() table[*identity.OneTimeSecret, secretRow] {
	return table[*identity.OneTimeSecret, secretRow]{
		thing: "secret", key: "hash",
		row: always(func(v *identity.OneTimeSecret) secretRow {
			r := v.Record()
			var usedBy []byte
			if r.UsedBy != [32]byte{} {
				usedBy = r.UsedBy[:]
			}
			return secretRow{
				Hash: hex.EncodeToString(r.Hash[:]), ID: r.ID, Purpose: string(r.Purpose), Subject: r.Subject, Grants: r.Grants,
				CreatedAt: instant(r.CreatedAt), ExpiresAt: instant(r.ExpiresAt), UsedAt: instant(r.UsedAt), UsedBy: usedBy,
			}
		}),
		value: secretRow.value,
	}
}

func (r secretRow) value() (*identity.OneTimeSecret, error) {
	text, err := hex.DecodeString(r.Hash)
	if err != nil {
		return nil, err
	}
	hash, err := bytes32(text)
	if err != nil {
		return nil, err
	}
	var usedBy [32]byte
	if len(r.UsedBy) > 0 {
		usedBy, err = bytes32(r.UsedBy)
	}
	return identity.RestoreOneTimeSecret(identity.OneTimeSecretRecord{
		ID: r.ID, Hash: hash, Purpose: identity.SecretPurpose(r.Purpose), Subject: r.Subject, Grants: r.Grants,
		CreatedAt: time.Time(r.CreatedAt), ExpiresAt: time.Time(r.ExpiresAt), UsedAt: time.Time(r.UsedAt), UsedBy: usedBy,
	}), err
}

type secrets struct {
	aggregate[*identity.OneTimeSecret, secretRow]
}

func (s secrets) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	return s.t.change(ctx, `DELETE FROM one_time_secrets WHERE hash IN (
		SELECT hash FROM one_time_secrets WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, micros(before), max(limit, 1))
}
