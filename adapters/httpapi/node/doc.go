// Package node serves /internal/v1 to relay nodes, on the listener that only the ingress reaches. Every request is a
// node's by its ingress assertion (I3, I4); what the node may do is decided by the access table (I8) in the use cases.
package node
