package apiclient

import (
	"context"

	"berth/adapters/contract"
)

// Device is the API of devices, /v1/devices, and the public keys. Connection takes a device token as the client's proof;
// the others take none.
type Device struct{ c *Client }

// NewDevice returns the devices' API of a server.
func NewDevice(c *Client) Device { return Device{c} }

// Pair spends a pairing code; the answer shows the route handles once.
func (d Device) Pair(ctx context.Context, in contract.NewDevice) (contract.Device, error) {
	return post[contract.Device](ctx, d.c, "/v1/devices", in)
}

// Token exchanges an assertion that the device's key signed for an access token.
func (d Device) Token(ctx context.Context, assertion string) (contract.AccessToken, error) {
	return post[contract.AccessToken](ctx, d.c, "/v1/devices/token", contract.TokenRequest{Assertion: assertion})
}

// Connection says whether and where a device can connect.
func (d Device) Connection(ctx context.Context, principal string) (contract.Connection, error) {
	return get[contract.Connection](ctx, d.c, "/v1/devices"+seg(principal)+"/connection", nil)
}

// Keys returns the public keys that verify device tokens.
func (d Device) Keys(ctx context.Context) (contract.JWKS, error) {
	return get[contract.JWKS](ctx, d.c, "/.well-known/jwks.json", nil)
}
