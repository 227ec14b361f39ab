package identity

import "berth/domain/fault"

// Caller is the authenticated node of a request.
type Caller struct{ Node, Region, SPIFFEID, Fingerprint string }

// CheckPathNode refuses a request whose path names another node than the one that makes it (I4), as Forbidden
// node_mismatch. A caller without a node matches nothing.
func CheckPathNode(caller Caller, node string) error {
	if caller.Node == "" || caller.Node != node {
		return fault.New(fault.Forbidden, "node_mismatch", "the path names another node than the certificate")
	}
	return nil
}
