package device

import (
	"context"
	"encoding/base64"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/access"
	"berth/application/trust"
	"berth/domain/authorization"
	"berth/domain/fault"
)

// Deps are the use cases behind the devices' API.
type Deps struct {
	Version string
	Access  *access.Access
	Trust   *trust.Trust
	Limits  *httpapi.SourceLimits
}

// Mount serves the devices' API on an engine.
func Mount(e *gin.Engine, d Deps) huma.API {
	api := httpapi.NewAPI(e, httpapi.Audience{Title: "Berth for devices", Prefix: "/v1/devices", Version: d.Version}, d.limit)
	register := httpapi.Op("pair-device", "POST", "/v1/devices", "Pair a device by a pairing code", httpapi.Created, nil)
	huma.Register(api, register, d.register)
	token := httpapi.Op("issue-device-token", "POST", "/v1/devices/token", "Get an access token by the device's own key", httpapi.OK, nil)
	huma.Register(api, token, d.token)
	connection := httpapi.Op("get-connection", "GET", "/v1/devices/{principal}/connection", "Whether and where the device can connect", httpapi.OK, nil)
	huma.Register(api, connection, d.connection)
	d.jwks(e)
	return api
}

// limit bounds what one source may try: codes and keys are guessed at here, if anywhere.
func (d Deps) limit(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if err := d.Limits.Take(httpapi.Source(ctx)); err != nil {
			httpapi.Refuse(api, ctx, err)
			return
		}
		next(ctx)
	}
}

type registerIn struct {
	Body contract.NewDevice

	source string
}

// Resolve keeps where the request came from.
func (in *registerIn) Resolve(ctx huma.Context) []error {
	in.source = httpapi.Source(ctx)
	return nil
}

func (d Deps) register(ctx context.Context, in *registerIn) (*struct{ Body contract.Device }, error) {
	key, err := base64.RawURLEncoding.Strict().DecodeString(in.Body.PublicKey)
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid_public_key", "a public key is base64url without padding").At("body.public_key")
	}
	a, err := d.Access.RegisterDevice(ctx, access.RegisterDeviceRequest{
		PairingCode: in.Body.PairingCode, Name: in.Body.Name, Kind: authorization.Kind(in.Body.Kind), PublicKey: key, Source: in.source,
	})
	if err != nil {
		return nil, err
	}
	out := contract.Device{
		Principal: a.Principal, Tenant: a.Tenant, ConnectionState: string(a.Connection.State), ConnectURL: a.Connection.URL,
		RouteHandles: []contract.RouteHandle{},
	}
	for _, h := range a.Handles {
		out.RouteHandles = append(out.RouteHandles, contract.RouteHandle(h))
	}
	return &struct{ Body contract.Device }{out}, nil
}

func (d Deps) token(ctx context.Context, in *struct{ Body contract.TokenRequest }) (*struct{ Body contract.AccessToken }, error) {
	a, err := d.Access.DeviceToken(ctx, access.DeviceTokenRequest{Assertion: in.Body.Assertion})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.AccessToken }{contract.AccessToken(a)}, nil
}

type connectionIn struct {
	Principal     string `path:"principal" maxLength:"64"`
	Authorization string `header:"Authorization" maxLength:"8192" doc:"Bearer <access token>"`
}

func (d Deps) connection(ctx context.Context, in *connectionIn) (*struct{ Body contract.Connection }, error) {
	token, ok := strings.CutPrefix(in.Authorization, "Bearer ")
	if !ok {
		token = "" // another scheme is no token
	}
	a, err := d.Access.Connection(ctx, access.ConnectionRequest{Principal: in.Principal, Token: token})
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Connection }{contract.Connection{ConnectionState: string(a.State), ConnectURL: a.URL}}, nil
}
