package trust

import (
	"context"
	"time"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/domain/identity"
	"berth/ports/store"
)

// EnrollRequest asks for a node's first certificate.
type EnrollRequest struct {
	JoinToken string
	CSR       []byte // PEM
	Source    string // where the request came from, for the audit log; may be empty
}

// Enroll spends a join token for the key of a request and admits a certificate for it as prepared; its first use makes it
// current (I5). The certificate names what the node's record says, whatever the request may say. A token works for one
// key: of several that come with it one is enrolled, and that key may come again within the token's life, so that a lost
// answer locks nobody out, until a certificate that the token let in is used or revoked. What is refused leaves the token
// unspent, and so does an authority that is away.
//
// Faults: those of identity.ReadCertificateRequest; Invalid join_token_malformed; Unauthenticated join_token_unknown
// (that of a retired node, too), join_token_used, join_token_expired; Unavailable ca_unavailable, ca_not_ready, ca_absent.
func (t *Trust) Enroll(ctx context.Context, in EnrollRequest) (Enrolled, error) {
	key, err := joinTokenKey(in.JoinToken)
	if err != nil {
		return Enrolled{}, err
	}
	csr, err := identity.ReadCertificateRequest(in.CSR)
	if err != nil {
		return Enrolled{}, err
	}
	now := t.Clock.Now()
	var order issuing
	err = t.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		joining, err := t.join(ctx, r, key, csr.KeyDigest, now)
		if err != nil {
			return err
		}
		order, err = t.issuing(ctx, r, joining.id, csr)
		return err
	})
	if err != nil {
		return Enrolled{}, err
	}
	signed, err := t.sign(ctx, order)
	if err != nil {
		return Enrolled{}, err
	}
	var out Enrolled
	actor := audit.Actor{Kind: audit.ActorNode, ID: order.id.Node(), Source: in.Source}
	err = t.commit(ctx, actor, func(ctx context.Context, w *work) error {
		joining, err := t.join(ctx, w.Roles, key, csr.KeyDigest, w.now)
		if err != nil {
			return err
		}
		if err := w.spend(ctx, joining); err != nil {
			return err
		}
		out, err = t.admitSigned(ctx, w, signed, joining.admits())
		return err
	})
	if err != nil {
		return Enrolled{}, err
	}
	return out, nil
}

// joining is a join token as it stands once a key has used it, and whose it is.
type joining struct {
	id     identity.SPIFFEID
	secret *identity.OneTimeSecret
	first  bool // whether that changed the token
}

// join judges a token for a key. It changes nothing: whoever may write saves what comes of it.
func (t *Trust) join(ctx context.Context, r *store.Roles, key string, by [32]byte, now time.Time) (joining, error) {
	secret, err := r.Secrets.Get(ctx, key)
	if fault.KindOf(err) == fault.NotFound {
		return joining{}, identity.JoinToken.Unknown()
	}
	if err != nil {
		return joining{}, err
	}
	before := secret.Record()
	if err := secret.SpendBy(now, by); err != nil {
		return joining{}, err
	}
	id, err := t.nodeIdentity(ctx, r, before.Subject)
	if fault.SlugOf(err) == "node_retired" {
		return joining{}, identity.JoinToken.Unknown()
	}
	out := joining{id: id, secret: secret, first: secret.Record() != before}
	if err != nil || out.first {
		return out, err
	}
	set, err := credentialsOf(ctx, r, before.Subject)
	if err == nil && !set.Unclaimed(out.admits()) {
		err = identity.JoinToken.Used()
	}
	return out, err
}

// admits names the token as what let a certificate in.
func (j joining) admits() string { return "join-token/" + j.secret.Record().ID }

func (w *work) spend(ctx context.Context, j joining) error {
	if !j.first {
		return nil
	}
	if err := w.Secrets.Save(ctx, j.secret); err != nil {
		return err
	}
	return w.note(ctx, "join_token.used", "node/"+j.id.Node(), map[string]string{"token_id": j.secret.Record().ID})
}
