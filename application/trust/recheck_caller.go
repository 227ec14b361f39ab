package trust

import (
	"context"

	"berth/domain/identity"
)

// RecheckCaller judges again, before a long poll answers, whether the node's certificate and the node are still in force
// (I4). Faults: those of identity.CheckCredential; Forbidden node_retired.
func (t *Trust) RecheckCaller(ctx context.Context, caller identity.Caller) error {
	id, err := identity.ParseSPIFFEID(caller.SPIFFEID)
	if err != nil {
		return err
	}
	_, err = t.checkCredential(ctx, id, caller.Fingerprint)
	return t.refused(err)
}
