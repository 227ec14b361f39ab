package operator

import (
	"context"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/application/trust"
	"berth/domain/fault"
	"berth/domain/identity"
)

// CredentialPath is a certificate of a node in a path.
type CredentialPath struct {
	NodePath
	Fingerprint string `path:"fingerprint" maxLength:"64"`
}

type credentialOut struct{ Body contract.Credential }

func (d Deps) credentials(api huma.API) {
	huma.Register(api, op(identity.RoleAdmin, "admit-credential", "POST", "/nodes/{node}/credentials",
		"Admit a node certificate that your own CA issued", httpapi.Created),
		func(ctx context.Context, in *struct {
			NodePath
			Body contract.NewCredential
		}) (*credentialOut, error) {
			return certified(d.Trust.AdmitCredential(ctx, trust.AdmitCredentialRequest{
				Actor: actor(ctx), Node: in.Node, Certificate: []byte(in.Body.Certificate),
			}))
		})
	huma.Register(api, op(identity.RoleViewer, "list-credentials", "GET", "/nodes/{node}/credentials", "List a node's certificates", httpapi.OK),
		func(ctx context.Context, in *NodePath) (*struct{ Body contract.Credentials }, error) {
			list, err := d.Trust.Credentials(ctx, in.Node)
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.Credentials }{contract.Credentials{Credentials: httpapi.Each(list, credential)}}, nil
		})
	huma.Register(api, op(identity.RoleAdmin, "revoke-credential", "POST", "/nodes/{node}/credentials/{fingerprint}/revoke",
		"Revoke a node's certificate; its next request is refused", httpapi.OK),
		func(ctx context.Context, in *struct {
			CredentialPath
			Body *contract.Reason
		}) (*credentialOut, error) {
			return certified(d.Trust.RevokeCredential(ctx, trust.RevokeCredentialRequest{
				Actor: actor(ctx), Node: in.Node, Fingerprint: in.Fingerprint, Reason: reason(in.Body),
			}))
		})
}

func reason(r *contract.Reason) string {
	if r == nil {
		return ""
	}
	return r.Reason
}

func certified(c identity.CredentialRecord, err error) (*credentialOut, error) {
	if err != nil {
		return nil, err
	}
	return &credentialOut{credential(c)}, nil
}

func credential(c identity.CredentialRecord) contract.Credential {
	return contract.Credential{
		Fingerprint: c.Fingerprint, SPIFFEID: c.SPIFFEID, State: string(c.State), IssuedAt: c.IssuedAt, ExpiresAt: c.ExpiresAt,
		UsedAt: when(c.UsedAt), RevokedAt: when(c.RevokedAt), Reason: c.RevokedReason,
	}
}

type keyOut struct{ Body contract.SigningKey }

func (d Deps) keys(api huma.API) {
	huma.Register(api, op(identity.RoleViewer, "list-signing-keys", "GET", "/signing-keys", "List the signing keys", httpapi.OK),
		func(ctx context.Context, _ *struct{}) (*struct{ Body contract.SigningKeys }, error) {
			list, err := d.Trust.SigningKeys(ctx)
			if err != nil {
				return nil, err
			}
			return &struct{ Body contract.SigningKeys }{contract.SigningKeys{Keys: httpapi.Each(list, httpapi.SigningKey)}}, nil
		})
	huma.Register(api, op(identity.RoleAdmin, "rotate-signing-key", "POST", "/signing-keys/rotate", "Make the next key now", httpapi.OK),
		func(ctx context.Context, in *struct{ Body *contract.RotateKey }) (*keyOut, error) {
			rotate := trust.RotateSigningKeyRequest{Actor: actor(ctx)}
			if in.Body != nil {
				rotate.Purpose = identity.KeyPurpose(in.Body.Purpose)
			}
			k, err := d.Trust.RotateSigningKey(ctx, rotate)
			if err != nil {
				return nil, err
			}
			return &keyOut{httpapi.SigningKey(k)}, nil
		})
	huma.Register(api, op(identity.RoleAdmin, "compromise-signing-key", "POST", "/signing-keys/{kid}/compromise",
		"End a key everywhere at once; what it signed is refused", httpapi.OK),
		func(ctx context.Context, in *struct {
			KID  string `path:"kid" maxLength:"64"`
			Body *contract.Reason
		}) (*keyOut, error) {
			k, err := d.Trust.CompromiseSigningKey(ctx, trust.CompromiseSigningKeyRequest{
				Actor: actor(ctx), KID: in.KID, Reason: reason(in.Body),
			})
			if err != nil {
				return nil, err
			}
			return &keyOut{httpapi.SigningKey(k.Key)}, nil
		})
}

type tokenOut struct{ Body contract.Token }

func (d Deps) tokens(api huma.API) {
	huma.Register(api, showing(op(identity.RoleAdmin, "create-token", "POST", "/tokens", "Make an operator token", httpapi.Created), "token"),
		d.createToken)
	huma.Register(api, op(identity.RoleAdmin, "list-tokens", "GET", "/tokens", "List the operator tokens", httpapi.OK), d.listTokens)
	huma.Register(api, op(identity.RoleAdmin, "revoke-token", "POST", "/tokens/{token}/revoke", "Revoke an operator token", httpapi.OK),
		func(ctx context.Context, in *struct {
			Token string `path:"token" maxLength:"64" doc:"The token's id"`
		}) (*tokenOut, error) {
			t, err := d.Trust.RevokeToken(ctx, trust.RevokeTokenRequest{Actor: actor(ctx), ID: in.Token})
			if err != nil {
				return nil, err
			}
			return &tokenOut{token(t)}, nil
		})
}

func (d Deps) createToken(ctx context.Context, in *struct{ Body contract.NewToken }) (*tokenOut, error) {
	life, err := lifeOf(in.Body.ExpiresIn)
	if err != nil {
		return nil, err
	}
	made, err := d.Trust.CreateToken(ctx, trust.CreateTokenRequest{
		Actor: actor(ctx), By: operatorOf(ctx), Name: in.Body.Name, Role: identity.Role(in.Body.Role), ExpiresIn: life,
	})
	if err != nil {
		return nil, err
	}
	out := token(made.Token)
	out.Token = made.Clear
	return &tokenOut{out}, nil
}

// lifeOf reads how long a token is to live; nil leaves it to the settings.
func lifeOf(text string) (*time.Duration, error) {
	if text == "" {
		return nil, nil
	}
	life, err := time.ParseDuration(text)
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid_duration", "a duration is written like 720h or 30m").At("body.expires_in")
	}
	return &life, nil
}

func (d Deps) listTokens(ctx context.Context, in *httpapi.Paging) (*struct{ Body contract.Tokens }, error) {
	p, err := in.Page()
	if err != nil {
		return nil, err
	}
	list, err := d.Trust.Tokens(ctx, p)
	if err != nil {
		return nil, err
	}
	return &struct{ Body contract.Tokens }{contract.Tokens{Tokens: httpapi.Each(list.Items, token), Next: httpapi.Cursor(list.Next)}}, nil
}

func token(t identity.OperatorTokenRecord) contract.Token {
	return contract.Token{
		ID: t.ID, Name: t.Name, Role: string(t.Role), CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt, RevokedAt: when(t.RevokedAt),
	}
}
