package relay

import (
	"context"
	"encoding/hex"
	"time"

	"berth/domain/fault"
	"berth/domain/identity"
)

// unfit is the join token of which the certificate was not this node's, as one that was meant for another node: asking
// again would bring another such certificate each time. A process that is started anew, with other settings, asks again.
type unfit struct {
	token [32]byte
	why   error // nil for none
}

// untaken is a certificate that was given and that the disk did not take, as one that is full: it is put there again, and
// no other is asked for each time.
type untaken struct {
	purpose string
	next    *credential // nil for none
}

func (u untaken) of(purpose string) *credential {
	if u.purpose != purpose {
		return nil
	}
	return u.next
}

// enrol spends a join token, if there is one that was not spent.
func (k *keeper) enrol(ctx context.Context) time.Duration {
	token, hash, ok, err := k.fresh(ctx)
	if !ok {
		return k.waiting(ctx, err)
	}
	return k.tried(ctx, "the node could not enrol", k.spend(ctx, token, hash))
}

// fresh is the join token that lies there, if it was not spent.
func (k *keeper) fresh(ctx context.Context) (token string, hash [32]byte, ok bool, err error) {
	token, err = k.Tokens.Token(ctx)
	if err != nil || token == "" {
		return "", hash, false, err
	}
	hash = identity.HashSecret(identity.JoinToken, token)
	if k.unfit.why != nil && k.unfit.token == hash {
		return "", hash, false, k.unfit.why
	}
	used, err := k.Identity.Spent(ctx, hash)
	return token, hash, err == nil && !used, err
}

func (k *keeper) spend(ctx context.Context, token string, hash [32]byte) error {
	purpose := "enrol " + hex.EncodeToString(hash[:])
	c := k.untaken.of(purpose)
	if c == nil {
		var err error
		if c, err = k.enrolled(ctx, purpose, token, hash); err != nil {
			return err
		}
	}
	if err := k.install(ctx, purpose, c); err != nil {
		return err
	}
	k.counts.enrolments.Add(1)
	k.Log.InfoContext(ctx, "the node is enrolled", "spiffe_id", c.SPIFFEID.String(), "fingerprint", c.Fingerprint, "expires_at", c.NotAfter)
	return k.Identity.Spend(ctx, hash)
}

// enrolled asks for the certificate that a join token brings.
func (k *keeper) enrolled(ctx context.Context, purpose, token string, hash [32]byte) (*credential, error) {
	key, csr, err := k.prepared(ctx, purpose)
	if err != nil {
		return nil, err
	}
	sent := k.clocks()
	timed, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	in, err := k.Authority.Enrolment.Enroll(timed, token, csr)
	if spent(err) {
		if kept := k.Identity.Spend(ctx, hash); kept != nil {
			return nil, kept
		}
	}
	if err != nil {
		return nil, err
	}
	c, err := k.issued(in, key)
	if err != nil {
		k.unfit = unfit{hash, err}
		return nil, err
	}
	k.serverTime(ctx, in.ServerTime, sent)
	return c, nil
}

// waiting says once, for each reason, what a person has to do.
func (k *keeper) waiting(ctx context.Context, err error) time.Duration {
	k.state.mu.RLock()
	lost := k.state.lost
	k.state.mu.RUnlock()
	if err == nil {
		err = lost
	}
	if why := fault.SlugOf(err); why != k.told {
		k.told = why
		k.Log.ErrorContext(ctx, "the node has no certificate that is accepted, and serves nothing: it waits for another join token",
			"error", err, "cure", cureOf(err))
	}
	return k.chance.within(watchToken)
}

// tried says when to try again.
func (k *keeper) tried(ctx context.Context, what string, err error) time.Duration {
	if err == nil || ctx.Err() != nil {
		return 0
	}
	wait := k.tries.next(k.chance, err, lastRetry)
	k.Log.WarnContext(ctx, what, "error", err, "again_in", wait.Round(time.Millisecond))
	return wait
}

// unheard is for how long the node has had no lease. A certificate whose root is believed no more is refused before
// anybody says why: where it then looks as if nobody answered, a join token that was not spent says what an operator wants.
func (k *keeper) unheard() time.Duration {
	k.state.mu.RLock()
	defer k.state.mu.RUnlock()
	return k.state.clock.Elapsed() - max(k.began, k.state.granted.SentAt+k.state.granted.For)
}

func cureOf(err error) string {
	if f, ok := fault.As(err); ok {
		return f.Cure
	}
	return ""
}
