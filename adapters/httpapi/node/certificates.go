package node

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/trust"
	"berth/domain/authorization"
)

func (d Deps) certificates(api huma.API) {
	huma.Register(api, op(authorization.OpRotateCredential, "POST", "/nodes/{node}/credentials",
		"Get the node's next certificate, over the current one (I5)", httpapi.OK), d.rotate)
}

type rotateIn struct {
	NodePath
	Body contract.Rotate
}

func (d Deps) rotate(ctx context.Context, in *rotateIn) (*struct{ Body contract.Enrolled }, error) {
	c := callerOf(ctx)
	e, err := d.Trust.RotateCredential(ctx, trust.RotateCredentialRequest{Caller: c.Caller, Ticket: c.ticket, CSR: []byte(in.Body.CSR)})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Enrolled }{httpapi.Enrolled(e)}, nil
}

// trustBundle serves the ingress itself, which asserts nobody: the hop it comes over is authenticated, and it lets no
// node reach a path that is not below the nodes' API.
func (d Deps) trustBundle(e *gin.Engine) {
	e.GET("/trust-bundle", func(c *gin.Context) {
		b, err := d.Trust.TrustBundle(c.Request.Context())
		if err != nil {
			httpapi.Problem(c, err)
			return
		}
		c.JSON(http.StatusOK, httpapi.TrustBundle(b))
	})
}
