package harness

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"

	"berth/adapters/contract"
)

// Device is a paired device.
type Device struct {
	contract.Device
	Key ed25519.PrivateKey
}

// Pair makes a pairing code for a tenant and pairs a device by it.
func (s *Server) Pair(tenant, role, kind string) Device {
	s.t.Helper()
	var code contract.PairingCode
	s.Operator("POST", "/api/v1/tenants/"+tenant+"/pairing-codes", contract.NewPairingCode{Role: role}, 201, &code)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	must(s.t, err)
	d := Device{Key: private}
	s.Call("", "POST", "/v1/devices", contract.NewDevice{
		PairingCode: code.Code, Name: "a " + kind, Kind: kind, PublicKey: base64.RawURLEncoding.EncodeToString(public),
	}, 201, &d.Device)
	return d
}
