package operator

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/trust"
	"berth/domain/identity"
)

func (d Deps) enrolment(api huma.API) {
	huma.Register(api, showing(op(identity.RoleOperator, "create-join-token", "POST", "/nodes/{node}/join-tokens",
		"Make a token by which one process enrols as the node", httpapi.Created), "token"), d.createJoinToken)
	huma.Register(api, op(identity.RoleViewer, "get-trust-bundle", "GET", "/trust-bundle", "Every root that nodes believe now", httpapi.OK),
		func(ctx context.Context, _ *struct{}) (*struct{ Body contract.TrustBundle }, error) {
			b, err := d.Trust.TrustBundle(ctx)
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.TrustBundle }{httpapi.TrustBundle(b)}, nil
		})
}

type joinTokenIn struct {
	NodePath
	Body *contract.NewJoinToken
}

func (d Deps) createJoinToken(ctx context.Context, in *joinTokenIn) (*struct{ Body contract.JoinToken }, error) {
	ask := trust.CreateJoinTokenRequest{Actor: actor(ctx), Node: in.Node}
	if in.Body != nil {
		life, err := lifeOf(in.Body.ExpiresIn)
		if err != nil {
			return nil, err
		}
		ask.ExpiresIn = life
	}
	t, err := d.Trust.CreateJoinToken(ctx, ask)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.JoinToken }{contract.JoinToken{
		ID: t.ID, Node: t.Node, Token: t.Clear, ExpiresAt: t.ExpiresAt,
	}}, nil
}
