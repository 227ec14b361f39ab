package access_test

import (
	"time"

	"berth/domain/fault"
	"berth/ports/tokens"
)

// bearer verifies one token, with the fields that the test gave it, against the keys and the region.
type bearer struct {
	token tokens.DeviceToken
	keys  tokens.KeySet // as last seen
}

const goodToken = "a good token"

func (b *bearer) VerifyDeviceToken(text string, keys tokens.KeySet, region string, now time.Time) (tokens.DeviceToken, error) {
	b.keys = keys
	_, known := keys[b.token.KID]
	if text != goodToken || !known || region == "" || b.token.Region != region || !now.Before(b.token.ExpiresAt) {
		return tokens.DeviceToken{}, fault.New(fault.Unauthenticated, "device_token_anything", "it is refused")
	}
	return b.token, nil
}
