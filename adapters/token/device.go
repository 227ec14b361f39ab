package token

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"berth/domain/fault"
	"berth/ports/signer"
	"berth/ports/tokens"
)

var deviceToken = kind{tokens.DeviceTokenType, "device_token", tokens.MaxSize} //nolint:gochecknoglobals // an immutable value

// Issuer is a tokens.Issuer. Use NewIssuer.
type Issuer struct {
	signer      signer.Signer
	trustDomain string
}

var _ tokens.Issuer = (*Issuer)(nil)

// NewIssuer returns an issuer of tokens whose iss is the trust domain's URL.
func NewIssuer(s signer.Signer, trustDomain string) *Issuer {
	return &Issuer{signer: s, trustDomain: trustDomain}
}

// IssueDeviceToken signs a device token by the key.
func (i *Issuer) IssueDeviceToken(ctx context.Context, key tokens.SigningKey, c tokens.DeviceClaims) (string, error) {
	claims := &deviceClaims{
		Issuer: i.trustDomain, Subject: c.Principal, Audience: []string{c.Region, c.Tenant}, ID: c.ID,
		Confirmation: confirmation{tokens.Thumbprint(c.DeviceKey)},
		IssuedAt:     c.IssuedAt.Unix(), NotBefore: c.NotBefore.Unix(), ExpiresAt: c.ExpiresAt.Unix(),
	}
	if err := cmp.Or(claims.check(), claims.checkLifetime()); err != nil {
		return "", defect(err.Detail)
	}
	if len(c.DeviceKey) != ed25519.PublicKeySize || !isName(key.KID) || !isName(i.trustDomain) {
		return "", defect("the device's key, the kid or the trust domain is missing or too long")
	}
	unsigned := jwt.NewWithClaims(kmsMethod{ctx, i.signer}, claims)
	unsigned.Header["typ"] = deviceToken.typ
	unsigned.Header["kid"] = key.KID
	text, err := unsigned.SignedString(key.Ref)
	if err != nil && fault.KindOf(err) != fault.Unavailable {
		// That the key is gone is no fault of the device that asks.
		err = signer.Unreachable(err)
	}
	return text, err
}

func defect(detail string) error {
	return fault.New(fault.Internal, "device_claims", "a device token cannot say this: %s", detail)
}

// DeviceVerifier is a tokens.DeviceVerifier. Use NewDeviceVerifier.
type DeviceVerifier struct{ trustDomain string }

var _ tokens.DeviceVerifier = (*DeviceVerifier)(nil)

// NewDeviceVerifier returns a verifier of tokens whose iss is the trust domain's URL.
func NewDeviceVerifier(trustDomain string) *DeviceVerifier { return &DeviceVerifier{trustDomain} }

// VerifyDeviceToken checks a device token. Its time at the key's end is the verifier's, so that a token of a retired key
// is refused however long it would live.
func (v *DeviceVerifier) VerifyDeviceToken(
	text string, keys tokens.KeySet, region string, now time.Time,
) (tokens.DeviceToken, error) {
	var none tokens.DeviceToken
	h, err := deviceToken.open(text)
	if err != nil {
		return none, err
	}
	key, ok := keys[h.KeyID]
	if !ok {
		return none, deviceToken.refuse("key_unknown", "it was signed by no key that is known here")
	}
	if !now.Before(key.VerifyUntil) {
		return none, deviceToken.refuse("key_retired", "the key that signed it is no longer trusted")
	}
	var claims deviceClaims
	if err := deviceToken.verify(text, key.PublicKey, &claims); err != nil {
		return none, err
	}
	if err := v.accept(&claims, region, now); err != nil {
		return none, err
	}
	return tokens.DeviceToken{
		KID: h.KeyID, ID: claims.ID, Principal: claims.Subject, Region: claims.Audience[0], Tenant: claims.Audience[1],
		Thumbprint: claims.Confirmation.Thumbprint,
		IssuedAt:   instant(claims.IssuedAt), NotBefore: instant(claims.NotBefore), ExpiresAt: instant(claims.ExpiresAt),
	}, nil
}

func (v *DeviceVerifier) accept(claims *deviceClaims, region string, now time.Time) error {
	if err := claims.check(); err != nil {
		return err
	}
	if claims.Issuer != v.trustDomain {
		return deviceToken.refuse("issuer", "it is of another trust domain")
	}
	if claims.Audience[0] != region {
		return deviceToken.refuse("audience", "it is for another region")
	}
	if err := claims.checkLifetime(); err != nil {
		return err
	}
	return deviceToken.inTime(max(claims.IssuedAt, claims.NotBefore), claims.ExpiresAt, now)
}
