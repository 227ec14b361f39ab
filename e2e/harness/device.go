package harness

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"time"

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

// DeviceToken is a device token for a device, which proves its key to who is named by the audience.
func (s *Server) DeviceToken(d Device, audience string) string {
	s.t.Helper()
	part := func(v map[string]any) string {
		data, err := json.Marshal(v)
		must(s.t, err)
		return base64.RawURLEncoding.EncodeToString(data)
	}
	now := time.Now().Unix()
	text := part(map[string]any{"alg": "EdDSA", "typ": "berth-device-assertion+jwt"}) + "." +
		part(map[string]any{"sub": d.Principal, "aud": audience, "jti": rand.Text(), "iat": now, "exp": now + 30})
	text += "." + base64.RawURLEncoding.EncodeToString(ed25519.Sign(d.Key, []byte(text)))
	var got contract.AccessToken
	s.Call("", "POST", "/v1/devices/token", contract.TokenRequest{Assertion: text}, 200, &got)
	return got.AccessToken
}
