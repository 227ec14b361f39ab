package apiclient

import (
	"context"

	"berth/adapters/contract"
)

// AdmitCredential admits a node certificate, in PEM.
func (o Operator) AdmitCredential(ctx context.Context, node, certificate string) (contract.Credential, error) {
	in := contract.NewCredential{Certificate: certificate}
	return post[contract.Credential](ctx, o.c, api+"/nodes"+seg(node)+"/credentials", in)
}

// Credentials lists a node's certificates.
func (o Operator) Credentials(ctx context.Context, node string) (contract.Credentials, error) {
	return get[contract.Credentials](ctx, o.c, api+"/nodes"+seg(node)+"/credentials", nil)
}

// RevokeCredential ends a node's certificate at once.
func (o Operator) RevokeCredential(ctx context.Context, node, fingerprint, reason string) (contract.Credential, error) {
	in := contract.Reason{Reason: reason}
	return post[contract.Credential](ctx, o.c, api+"/nodes"+seg(node)+"/credentials"+seg(fingerprint)+"/revoke", in)
}

// SigningKeys lists the signing keys of every purpose.
func (o Operator) SigningKeys(ctx context.Context) (contract.SigningKeys, error) {
	return get[contract.SigningKeys](ctx, o.c, api+"/signing-keys", nil)
}

// RotateSigningKey makes the next key of a purpose now, of device tokens where none is named.
func (o Operator) RotateSigningKey(ctx context.Context, in contract.RotateKey) (contract.SigningKey, error) {
	return post[contract.SigningKey](ctx, o.c, api+"/signing-keys/rotate", in)
}

// CompromiseSigningKey ends a key everywhere at once.
func (o Operator) CompromiseSigningKey(ctx context.Context, kid, reason string) (contract.SigningKey, error) {
	in := contract.Reason{Reason: reason}
	return post[contract.SigningKey](ctx, o.c, api+"/signing-keys"+seg(kid)+"/compromise", in)
}

// CreateToken makes an operator token; the answer shows it once.
func (o Operator) CreateToken(ctx context.Context, in contract.NewToken) (contract.Token, error) {
	return post[contract.Token](ctx, o.c, api+"/tokens", in)
}

// Tokens lists the operator tokens by id.
func (o Operator) Tokens(ctx context.Context, p Page) (contract.Tokens, error) {
	return get[contract.Tokens](ctx, o.c, api+"/tokens", p.query())
}

// RevokeToken ends an operator token at once.
func (o Operator) RevokeToken(ctx context.Context, id string) (contract.Token, error) {
	return post[contract.Token](ctx, o.c, api+"/tokens"+seg(id)+"/revoke", nil)
}

// Audit reads the audit log, the oldest first: what concerns a subject such as tenant/acme, or all where it is empty.
func (o Operator) Audit(ctx context.Context, subject string, p Page) (contract.AuditEntries, error) {
	q := p.query()
	if subject != "" {
		q.Set("subject", subject)
	}
	return get[contract.AuditEntries](ctx, o.c, api+"/audit", q)
}

// VerifyAudit checks that the audit log is whole.
func (o Operator) VerifyAudit(ctx context.Context) (contract.AuditVerdict, error) {
	return get[contract.AuditVerdict](ctx, o.c, api+"/audit/verify", nil)
}
