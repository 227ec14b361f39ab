package access

import (
	"context"

	"berth/domain/audit"
	"berth/domain/authorization"
	"berth/domain/identity"
	"berth/domain/placement"
	"berth/ports/store"
)

const handleBytes = 24 // 192 bits; at least 128 are asked for (R3)

// RegisterDeviceRequest is what a device says of itself when it pairs.
type RegisterDeviceRequest struct {
	PairingCode string // as typed
	Name        string
	Kind        authorization.Kind
	PublicKey   []byte // Ed25519, 32 bytes
	Source      string // where the request came from, for the audit log; may be empty
}

// RouteHandle is the capability of one device on one route, in clear.
type RouteHandle struct {
	Route  string
	Handle string
}

// DeviceAnswer is a paired device. The handles are shown only here: what is kept is their digests (A8).
type DeviceAnswer struct {
	Principal  string
	Tenant     string
	Role       authorization.Role
	Handles    []RouteHandle // one for each route that the tenant has now, by route
	Connection ConnectionAnswer
}

// RegisterDevice spends a pairing code and admits the device that holds it to the code's tenant. Of several that come
// with one code one is admitted. What is refused leaves the code usable.
// Faults: Invalid pairing_code_malformed, invalid_kind, invalid_name, invalid_public_key; Unauthenticated
// pairing_code_unknown, pairing_code_used, pairing_code_expired; Conflict tenant_suspended, tenant_closed; Exhausted
// principals_exhausted, handles_exhausted, principal_handles_exhausted, revision_exhausted.
func (a *Access) RegisterDevice(ctx context.Context, in RegisterDeviceRequest) (DeviceAnswer, error) {
	hash, err := pairingHash(in.PairingCode)
	if err != nil {
		return DeviceAnswer{}, err
	}
	if err := checkDeviceKey(in.PublicKey); err != nil {
		return DeviceAnswer{}, err
	}
	id := a.IDs.New("prn")
	actor := audit.Actor{Kind: audit.ActorDevice, ID: id, Source: in.Source}
	var out DeviceAnswer
	err = a.commit(ctx, actor, store.Ticket{}, func(ctx context.Context, w *work) error {
		secret, err := w.spendPairing(ctx, hash)
		if err != nil {
			return err
		}
		out, err = a.admit(ctx, w, secret, authorization.PrincipalSpec{
			Tenant: secret.Subject, ID: id, Kind: in.Kind, Role: authorization.Role(secret.Grants), Name: in.Name,
			PublicKey: in.PublicKey,
		})
		return err
	})
	if err != nil {
		return DeviceAnswer{}, err
	}
	return out, nil
}

func (w *work) spendPairing(ctx context.Context, hash [32]byte) (identity.OneTimeSecretRecord, error) {
	secret, err := w.Secrets.Get(ctx, secretKey(hash))
	if missing(err) {
		return identity.OneTimeSecretRecord{}, identity.PairingCode.Unknown()
	}
	if err != nil {
		return identity.OneTimeSecretRecord{}, err
	}
	if err := secret.Spend(w.now); err != nil {
		return identity.OneTimeSecretRecord{}, err
	}
	return secret.Record(), w.Secrets.Save(ctx, secret)
}

func (a *Access) admit(ctx context.Context, w *work, secret identity.OneTimeSecretRecord, spec authorization.PrincipalSpec,
) (DeviceAnswer, error) {
	s, err := w.Standings.Get(ctx, spec.Tenant)
	if err != nil {
		return DeviceAnswer{}, err
	}
	p, err := authorization.NewPrincipal(spec, w.now)
	if err != nil {
		return DeviceAnswer{}, err
	}
	clear, handles, err := a.newHandles(ctx, w, p)
	if err != nil {
		return DeviceAnswer{}, err
	}
	changes, err := s.Tenant.Admit(p, handles, a.Settings.Limits, w.now)
	if err != nil {
		return DeviceAnswer{}, err
	}
	if err := w.Principals.Create(ctx, p); err != nil {
		return DeviceAnswer{}, err
	}
	if err := w.Handles.Add(ctx, handles); err != nil {
		return DeviceAnswer{}, err
	}
	if err := w.amended(ctx, s, changes, "principal.admitted", map[string]string{
		"principal": spec.ID, "role": string(spec.Role), "kind": string(spec.Kind), "name": spec.Name,
		"code_id": secret.ID, "handles": number(int64(len(handles))),
	}); err != nil {
		return DeviceAnswer{}, err
	}
	reach, err := connection(ctx, w.Roles, s)
	return DeviceAnswer{Principal: spec.ID, Tenant: spec.Tenant, Role: spec.Role, Handles: clear, Connection: reach}, err
}

// newHandles makes a handle for every route of the tenant, whose number its limits bound.
func (a *Access) newHandles(ctx context.Context, w *work, p *authorization.Principal,
) ([]RouteHandle, []*authorization.Handle, error) {
	routes, err := routesOf(ctx, w.Roles, p.Record().Tenant)
	if err != nil {
		return nil, nil, err
	}
	clear := make([]RouteHandle, 0, len(routes))
	handles := make([]*authorization.Handle, 0, len(routes))
	for _, route := range routes {
		text, err := authorization.FormatHandle(a.IDs.Secret(handleBytes))
		if err != nil {
			return nil, nil, err
		}
		digest, err := authorization.ParseHandle(text)
		if err != nil {
			return nil, nil, err
		}
		h, err := authorization.NewHandle(digest, p, route, w.now)
		if err != nil {
			return nil, nil, err
		}
		clear, handles = append(clear, RouteHandle{route.Record().ID, text}), append(handles, h)
	}
	return clear, handles, nil
}

// connection is P13 for one tenant, and the address that goes with it.
func connection(ctx context.Context, r *store.Roles, s store.Standing) (ConnectionAnswer, error) {
	var holder *placement.Candidate
	if s.Placement != nil {
		node, err := r.Nodes.Get(ctx, s.Placement.Record().Node)
		if err != nil {
			return ConnectionAnswer{}, err
		}
		lease, err := r.Leases.Get(ctx, node.Record().ID)
		if err != nil {
			return ConnectionAnswer{}, err
		}
		holder = &placement.Candidate{Node: node, Lease: lease}
	}
	url, err := connectURL(ctx, r, s)
	return ConnectionAnswer{
		State: placement.Connection(s.Tenant.Status() != authorization.TenantActive, s.Placement, holder), URL: url,
	}, err
}
