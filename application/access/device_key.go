package access

import (
	"crypto/ed25519"
	"encoding/hex"

	"berth/domain/fault"
)

// weakKeys are the encodings of the points of small order, the sign bit cleared, those above the field's prime included:
// anybody can sign for such a key.
var weakKeys = [...]string{ //nolint:gochecknoglobals // an immutable table
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000000",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
}

// checkDeviceKey refuses what is no key, and a key that proves nothing. A key that is no point of the curve is left to
// its owner: no signature ever matches it. Fault: Invalid invalid_public_key.
func checkDeviceKey(key []byte) error {
	if len(key) != ed25519.PublicKeySize {
		return invalidKey("must be an Ed25519 public key of 32 bytes")
	}
	bare := append([]byte(nil), key...)
	bare[len(bare)-1] &= 0x7f
	for _, weak := range weakKeys {
		if hex.EncodeToString(bare) == weak {
			return invalidKey("must be a key that not everybody can sign for")
		}
	}
	return nil
}

func invalidKey(detail string) error {
	return fault.New(fault.Invalid, "invalid_public_key", "%s", detail).At("public_key")
}
