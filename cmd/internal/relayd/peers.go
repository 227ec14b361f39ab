package relayd

import (
	"net/http"

	"berth/domain/fault"
	"berth/ports/authority"
)

// NoPeers is how a node forwards that knows no other.
type NoPeers struct{}

// Forward refuses.
func (NoPeers) Forward(http.ResponseWriter, *http.Request, authority.Route) error {
	return fault.New(fault.Unavailable, "peer_unreachable", "this node passes nothing on")
}
