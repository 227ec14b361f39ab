package trust

import "berth/domain/identity"

// CheckPathNode is identity.CheckPathNode with its refusal counted. Fault: Forbidden node_mismatch.
func (t *Trust) CheckPathNode(caller identity.Caller, node string) error {
	return t.refused(identity.CheckPathNode(caller, node))
}
