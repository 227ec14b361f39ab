package apiclient

import (
	"context"

	"berth/adapters/contract"
)

// Enrolment is the plane of its own on which a node gets its first certificate (I5).
type Enrolment struct{ c *Client }

// NewEnrolment returns the enrolment API of a server.
func NewEnrolment(c *Client) Enrolment { return Enrolment{c} }

// Enroll gives the join token and gets a certificate. Repeating it with the same token and a request by the same key is
// safe: an answer that was lost is given again, as another certificate for that key.
func (e Enrolment) Enroll(ctx context.Context, in contract.Enroll) (contract.Enrolled, error) {
	return post[contract.Enrolled](ctx, e.c, "/enroll/v1/nodes", in)
}

// TrustBundle returns the roots that nodes believe now.
func (e Enrolment) TrustBundle(ctx context.Context) (contract.TrustBundle, error) {
	return get[contract.TrustBundle](ctx, e.c, "/enroll/v1/trust-bundle", nil)
}

// Rotate gets the node's next certificate, over the current one.
func (n Node) Rotate(ctx context.Context, in contract.Rotate) (contract.Enrolled, error) {
	return post[contract.Enrolled](ctx, n.c, n.own("/credentials"), in)
}

// JoinToken makes a join token of a node.
func (o Operator) JoinToken(ctx context.Context, node string, in contract.NewJoinToken) (contract.JoinToken, error) {
	return post[contract.JoinToken](ctx, o.c, api+"/nodes"+seg(node)+"/join-tokens", in)
}

// TrustBundle returns the roots that nodes believe now.
func (o Operator) TrustBundle(ctx context.Context) (contract.TrustBundle, error) {
	return get[contract.TrustBundle](ctx, o.c, api+"/trust-bundle", nil)
}
