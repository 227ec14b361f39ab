package enroll

import (
	"context"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/trust"
)

// Deps are the use cases behind enrolment.
type Deps struct {
	Version string
	Trust   *trust.Trust
}

// Mount serves enrolment on an engine, which limits what one source may try: join tokens are guessed at here, if
// anywhere.
func Mount(e *gin.Engine, d Deps) huma.API {
	api := httpapi.NewAPI(e, httpapi.Audience{Title: "Berth for nodes that enrol", Prefix: "/enroll/v1", Version: d.Version})
	huma.Register(api, httpapi.Op("enroll-node", "POST", "/enroll/v1/nodes", "Get a node's first certificate by a join token",
		httpapi.OK, nil), d.enroll)
	huma.Register(api, httpapi.Op("get-trust-bundle", "GET", "/enroll/v1/trust-bundle", "Every root that nodes believe now",
		httpapi.OK, nil), d.trustBundle)
	return api
}

type enrollIn struct {
	Body contract.Enroll

	source string
}

// Resolve keeps where the request came from.
func (in *enrollIn) Resolve(ctx huma.Context) []error {
	in.source = httpapi.Source(ctx)
	return nil
}

func (d Deps) enroll(ctx context.Context, in *enrollIn) (*struct{ Body contract.Enrolled }, error) {
	e, err := d.Trust.Enroll(ctx, trust.EnrollRequest{JoinToken: in.Body.JoinToken, CSR: []byte(in.Body.CSR), Source: in.source})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Enrolled }{httpapi.Enrolled(e)}, nil
}

func (d Deps) trustBundle(ctx context.Context, _ *struct{}) (*struct{ Body contract.TrustBundle }, error) {
	b, err := d.Trust.TrustBundle(ctx)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.TrustBundle }{httpapi.TrustBundle(b)}, nil
}
