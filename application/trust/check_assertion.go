package trust

import (
	"context"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

// AssertionRequest is an internal request as it arrived.
type AssertionRequest struct {
	Headers  []string // every value of the assertion header
	Arrived  identity.Arrived
	Mutating bool // whether its nonce is to be accepted once only
}

// CheckAssertion says which node makes a request (I4), and gives the ticket that a mutating one has to spend; one that
// only reads gets the zero Ticket. The first use of a prepared certificate makes it current, in a transaction of its
// own (I5); otherwise nothing is written. Each refusal is counted by its slug.
//
// Faults: those of identity.OpenAssertion, identity.CheckCredential and identity.Credentials.Use; Forbidden
// node_retired.
func (t *Trust) CheckAssertion(ctx context.Context, in AssertionRequest) (identity.Caller, store.Ticket, error) {
	a, err := t.checked(ctx, in)
	if err != nil {
		return identity.Caller{}, store.Ticket{}, t.refused(err)
	}
	if !in.Mutating {
		return a.Caller(), store.Ticket{}, nil
	}
	return a.Caller(), store.Ticket{Scope: a.SecretID, Nonce: a.Nonce, ExpiresAt: a.ForgetAfter}, nil
}

func (t *Trust) checked(ctx context.Context, in AssertionRequest) (identity.Assertion, error) {
	a, err := identity.OpenAssertion(in.Headers, t.Secrets(), in.Arrived, t.Clock.Now(), t.Settings.Skew)
	if err != nil {
		return identity.Assertion{}, err
	}
	state, err := t.checkCredential(ctx, a.SPIFFEID, a.Fingerprint)
	if err != nil {
		return identity.Assertion{}, err
	}
	if state == identity.CredentialPrepared {
		err = t.firstUse(ctx, a.Caller())
	}
	return a, err
}

// checkCredential judges the stored credential and the node behind it.
func (t *Trust) checkCredential(ctx context.Context, id identity.SPIFFEID, fingerprint string) (identity.CredentialState, error) {
	credential, status, err := t.Store.Caller(ctx, fingerprint)
	if err != nil && fault.SlugOf(err) != "credential_not_found" {
		return "", err
	}
	if err != nil {
		credential = nil
	}
	if err := identity.CheckCredential(credential, id, t.Clock.Now()); err != nil {
		return "", err
	}
	if status == placement.NodeRetired {
		return "", fault.New(fault.Forbidden, "node_retired", "node %s is retired", id.Node())
	}
	return credential.State(), nil
}

// firstUse makes a prepared certificate current, unless another request of the same node has done so already.
func (t *Trust) firstUse(ctx context.Context, caller identity.Caller) error {
	actor := audit.Actor{Kind: audit.ActorNode, ID: caller.Node, Source: caller.Fingerprint}
	return t.commit(ctx, actor, func(ctx context.Context, w *work) error {
		set, err := w.credentials(ctx, caller.Node)
		if err != nil {
			return err
		}
		changed, err := set.Use(caller.Fingerprint, w.now)
		if len(changed) == 0 || err != nil {
			return err
		}
		for _, c := range changed {
			if err := w.Credentials.Save(ctx, c); err != nil {
				return err
			}
		}
		return w.note(ctx, "credential.used_first", "node/"+caller.Node, map[string]string{"fingerprint": caller.Fingerprint})
	})
}

// refused counts a refusal of the caller; that the store is away is none.
func (t *Trust) refused(err error) error {
	kind := fault.KindOf(err)
	if t.Observer != nil && (kind == fault.Unauthenticated || kind == fault.Forbidden) {
		t.Observer.AssertionRefused(fault.SlugOf(err))
	}
	return err
}
