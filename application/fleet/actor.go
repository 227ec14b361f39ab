package fleet

import (
	"berth/domain/audit"
	"berth/domain/identity"
)

// nodeActor is a node as an actor; its source is the certificate that it came with.
func nodeActor(c identity.Caller) audit.Actor {
	return audit.Actor{Kind: audit.ActorNode, ID: c.Node, Source: c.Fingerprint}
}
