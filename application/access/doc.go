// Package access holds the use cases of who may use a tenant, and of how devices and relay nodes come to know it: the
// tenants themselves, pairing, devices and their tokens, routes and handles, what nodes are told (snapshot, delta,
// batched poll), and revocation (DESIGN §4).
//
// Each use case is one transaction: it spends the caller's ticket, asks the access table before it reveals anything,
// lets the domain decide, writes audit, and publishes hints only after the commit. What a node is told is read in one
// View of the primary. Hints may be lost; nothing here depends on them.
//
// Whoever waits for a node's tenants subscribes to the one topic node/<id>: every change of a tenant's authorization is
// hinted to the tenant and to the node that holds it at the commit.
package access
