package trust

import (
	"context"
	"encoding/hex"
	"time"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/ca"
)

// CreateJoinTokenRequest asks for a join token of a node.
type CreateJoinTokenRequest struct {
	Actor     audit.Actor
	Node      string
	ExpiresIn *time.Duration // nil for Settings.JoinTokenLife
}

// JoinToken lets one process enrol as one node. It is shown only here: what is kept is its hash.
type JoinToken struct {
	ID        string // by which the audit log names it
	Node      string
	Clear     string
	ExpiresAt time.Time
}

// CreateJoinToken makes a token by which one key can be enrolled as the node (I5).
// Faults: Invalid expiry_out_of_range; NotFound node_not_found; Conflict node_retired; Unavailable ca_absent, where
// there is nobody to enrol with.
func (t *Trust) CreateJoinToken(ctx context.Context, in CreateJoinTokenRequest) (JoinToken, error) {
	if t.CA == nil {
		return JoinToken{}, ca.Absent()
	}
	life, err := t.joinTokenLife(in.ExpiresIn)
	if err != nil {
		return JoinToken{}, err
	}
	clear, err := identity.FormatJoinToken(t.IDs.Secret(identity.JoinTokenBytes))
	if err != nil {
		return JoinToken{}, err
	}
	id := t.IDs.New("join")
	var secret identity.OneTimeSecretRecord
	err = t.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		if _, err := t.nodeIdentity(ctx, w.Roles, in.Node); err != nil {
			return err
		}
		made, err := identity.NewOneTimeSecret(identity.NewSecret{
			ID: id, Hash: identity.HashSecret(identity.JoinToken, clear), Purpose: identity.JoinToken, Subject: in.Node,
			ExpiresAt: w.now.Add(life),
		}, w.now)
		if err != nil {
			return err
		}
		if err := w.Secrets.Create(ctx, made); err != nil {
			return err
		}
		secret = made.Record()
		return w.note(ctx, "join_token.issued", "node/"+in.Node, map[string]string{
			"token_id": id, "expires_at": secret.ExpiresAt.Format(time.RFC3339),
		})
	})
	if err != nil {
		return JoinToken{}, err
	}
	return JoinToken{ID: id, Node: in.Node, Clear: clear, ExpiresAt: secret.ExpiresAt}, nil
}

// joinTokenLife is how long a token is to work. Zero is no life, and least of all an endless one.
func (t *Trust) joinTokenLife(asked *time.Duration) (time.Duration, error) {
	if asked == nil {
		return t.Settings.JoinTokenLife, nil
	}
	if *asked < time.Minute || *asked > t.Settings.MaxJoinTokenLife {
		return 0, fault.New(fault.Invalid, "expiry_out_of_range", "a join token works between a minute and %s",
			t.Settings.MaxJoinTokenLife).At("expires_in")
	}
	return *asked, nil
}

// joinTokenKey is what a join token is stored and found by. Fault: Invalid join_token_malformed.
func joinTokenKey(clear string) (string, error) {
	canonical, err := identity.CanonicalJoinToken(clear)
	if err != nil {
		return "", err
	}
	hash := identity.HashSecret(identity.JoinToken, canonical)
	return hex.EncodeToString(hash[:]), nil
}
