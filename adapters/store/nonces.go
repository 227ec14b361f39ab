package store

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	port "berth/ports/store"
)

type nonceRow struct {
	bun.BaseModel `bun:"table:spent_nonces,alias:n"`

	Scope     string  `bun:"scope,pk"`
	Nonce     string  `bun:"nonce,pk"`
	ExpiresAt instant `bun:"expires_at"`
}

func nonceRowOf(t port.Ticket) nonceRow {
	return nonceRow{Scope: t.Scope, Nonce: t.Nonce, ExpiresAt: instant(t.ExpiresAt)}
}

// checkTicket refuses what can not be stored, and what only looks like a ticket.
func checkTicket(t port.Ticket) error {
	if err := port.CheckText(t.Scope, t.Nonce); err != nil {
		return err
	}
	if t != (port.Ticket{}) && (t.Scope == "" || t.Nonce == "" || t.ExpiresAt.IsZero()) {
		return port.MalformedTicket()
	}
	return nil
}

type nonces struct{ t *Tx }

func (n nonces) Spend(ctx context.Context, ticket port.Ticket) error {
	if err := n.t.writing(); err != nil {
		return err
	}
	if err := checkTicket(ticket); err != nil || ticket == (port.Ticket{}) {
		return err
	}
	added, err := insert(ctx, n.t, []nonceRow{nonceRowOf(ticket)})
	if err == nil && added == 0 {
		return port.Replayed()
	}
	return err
}

func (n nonces) Sweep(ctx context.Context, before time.Time, limit int) (int, error) {
	return n.t.change(ctx, `DELETE FROM spent_nonces WHERE (scope, nonce) IN (
		SELECT scope, nonce FROM spent_nonces WHERE expires_at < ? ORDER BY expires_at LIMIT ?)`, micros(before), max(limit, 1))
}
