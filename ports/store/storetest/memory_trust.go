package storetest

import (
	"cmp"
	"context"
	"encoding/hex"
	"math"
	"slices"
	"time"

	"berth/domain/ident"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

func credentialKind() kind[*identity.Credential, identity.CredentialRecord] {
	return kind[*identity.Credential, identity.CredentialRecord]{
		thing: "credential", tree: func(s *state) *tree[identity.CredentialRecord] { return &s.credentials },
		key:    func(r identity.CredentialRecord) string { return r.Fingerprint },
		record: (*identity.Credential).Record, restore: identity.RestoreCredential,
		belongs: func(r identity.CredentialRecord) func(*state) bool { return nodeExists(r.Node) },
	}
}

type credentials struct {
	aggregate[*identity.Credential, identity.CredentialRecord]
}

func (c credentials) OfNode(_ context.Context, node string) ([]*identity.Credential, error) {
	if err := c.reading(node); err != nil {
		return nil, err
	}
	found := c.state.credentials.pick("", math.MaxInt, func(r identity.CredentialRecord) bool { return r.Node == node })
	slices.SortFunc(found, func(a, b identity.CredentialRecord) int {
		return cmp.Or(a.IssuedAt.Compare(b.IssuedAt), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	return c.kind.list(found), nil
}

func (c credentials) InForce(_ context.Context, now time.Time, p store.Page) ([]*identity.Credential, error) {
	return c.page(p, func(r identity.CredentialRecord) bool {
		node, found := c.nodes.get(r.Node)
		return found && node.Status != placement.NodeRetired && identity.RestoreCredential(r).InForce(ident.Instant(now))
	})
}

// Caller reads the last commit.
func (m *Memory) Caller(ctx context.Context, fingerprint string) (c *identity.Credential, status placement.NodeStatus, err error) {
	err = m.View(ctx, func(ctx context.Context, r *store.Roles) error {
		if c, err = r.Credentials.Get(ctx, fingerprint); err != nil {
			return err
		}
		node, err := r.Nodes.Get(ctx, c.Record().Node)
		if err != nil {
			return err
		}
		status = node.Record().Status
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return c, status, nil
}

func signingKeyKind() kind[*identity.SigningKey, identity.SigningKeyRecord] {
	return kind[*identity.SigningKey, identity.SigningKeyRecord]{
		thing: "signing_key", tree: func(s *state) *tree[identity.SigningKeyRecord] { return &s.keys },
		key:    func(r identity.SigningKeyRecord) string { return r.KID },
		record: (*identity.SigningKey).Record, restore: identity.RestoreSigningKey,
	}
}

type signingKeys struct {
	aggregate[*identity.SigningKey, identity.SigningKeyRecord]
}

func (k signingKeys) OfPurpose(_ context.Context, purpose identity.KeyPurpose) ([]*identity.SigningKey, error) {
	if err := k.reading(string(purpose)); err != nil {
		return nil, err
	}
	found := k.state.keys.pick("", math.MaxInt, func(r identity.SigningKeyRecord) bool { return r.Purpose == purpose })
	return k.kind.list(found), nil
}

func operatorTokenKind() kind[*identity.OperatorToken, identity.OperatorTokenRecord] {
	return kind[*identity.OperatorToken, identity.OperatorTokenRecord]{
		thing: "token", tree: func(s *state) *tree[identity.OperatorTokenRecord] { return &s.tokens },
		key:    func(r identity.OperatorTokenRecord) string { return r.ID },
		record: (*identity.OperatorToken).Record, restore: identity.RestoreOperatorToken,
	}
}

type operatorTokens struct {
	aggregate[*identity.OperatorToken, identity.OperatorTokenRecord]
}

func (t operatorTokens) List(_ context.Context, p store.Page) ([]*identity.OperatorToken, error) {
	return t.page(p, anything)
}

func (t operatorTokens) Admins(_ context.Context, now time.Time) (int, error) {
	if err := t.reading(); err != nil {
		return 0, err
	}
	found := t.tokens.pick("", math.MaxInt, func(r identity.OperatorTokenRecord) bool {
		return r.Role == identity.RoleAdmin && identity.RestoreOperatorToken(r).Live(ident.Instant(now))
	})
	return len(found), nil
}

func secretKind() kind[*identity.OneTimeSecret, identity.OneTimeSecretRecord] {
	return kind[*identity.OneTimeSecret, identity.OneTimeSecretRecord]{
		thing: "secret", tree: func(s *state) *tree[identity.OneTimeSecretRecord] { return &s.secrets },
		key:    func(r identity.OneTimeSecretRecord) string { return hex.EncodeToString(r.Hash[:]) },
		record: (*identity.OneTimeSecret).Record, restore: identity.RestoreOneTimeSecret,
	}
}

type secrets struct {
	aggregate[*identity.OneTimeSecret, identity.OneTimeSecretRecord]
}

func (s secrets) Sweep(_ context.Context, before time.Time, limit int) (int, error) {
	if err := s.writing(); err != nil {
		return 0, err
	}
	return s.state.secrets.sweep(limit, func(r identity.OneTimeSecretRecord) bool {
		return r.ExpiresAt.Before(ident.Instant(before))
	}), nil
}

type nonces struct{ *tx }

func (n nonces) Spend(_ context.Context, t store.Ticket) error {
	if t == (store.Ticket{}) {
		return n.writing()
	}
	t, err := adopt(t)
	if err != nil {
		return err
	}
	if err := n.writing(); err != nil {
		return err
	}
	if t.Scope == "" || t.Nonce == "" || t.ExpiresAt.IsZero() {
		return store.MalformedTicket()
	}
	key := compound(t.Scope, t.Nonce)
	if n.state.nonces.has(key) {
		return store.Replayed()
	}
	n.state.nonces = n.state.nonces.put(key, t)
	return nil
}

func (n nonces) Sweep(_ context.Context, before time.Time, limit int) (int, error) {
	if err := n.writing(); err != nil {
		return 0, err
	}
	return n.state.nonces.sweep(limit, func(t store.Ticket) bool { return t.ExpiresAt.Before(ident.Instant(before)) }), nil
}
