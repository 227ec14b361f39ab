package scale

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"berth/domain/identity"
	"berth/domain/placement"
)

// Plan is what there is to be. Everything in it follows from its numbers: a run is the same each time.
type Plan struct {
	Regions int
	Nodes   int // region i takes every Regions-th from node i on
	Tenants int
	Held    int       // tenants that a node holds, until there are none left: node 0 first
	At      time.Time // when all of it was made
}

const (
	trustDomain = "berth.test"
	mainRoute   = "main" // the route that a tenant is made with
	roomy       = 10_000 // tenants that a node has room for
	each        = 100    // every so many tenants one has a migration behind it that was aborted
)

// Region is the id of a region.
func (p Plan) Region(i int) string { return fmt.Sprintf("region-%02d", i) }

// Node is the id of a node, and its region.
func (p Plan) Node(i int) (id, region string) {
	return fmt.Sprintf("node-%04d", i), p.Region(i % p.Regions)
}

// Tenant is the id of a tenant.
func (p Plan) Tenant(i int) string { return fmt.Sprintf("tenant-%07d", i) }

// Holder is the node that holds a tenant.
func (p Plan) Holder(i int) int { return i / p.Held % p.Nodes }

// Holds is how many tenants a node holds: those from its first on.
func (p Plan) Holds(node int) (first, count int) {
	first = node * p.Held
	return first, max(0, min(p.Held, p.Tenants-first))
}

// Holders is how many nodes hold tenants.
func (p Plan) Holders() int { return (p.Tenants + p.Held - 1) / p.Held }

// Principal is the id of a tenant's owner.
func (p Plan) Principal(tenant int) string { return fmt.Sprintf("prn_%026d", tenant) }

// Fingerprint is that of a node's certificate.
func (p Plan) Fingerprint(node int) string {
	sum := digest("certificate", node)
	return hex.EncodeToString(sum[:])
}

// digest is some 32 bytes that nothing else has.
func digest(of string, i int) [32]byte { return sha256.Sum256(fmt.Appendf(nil, "%s %d", of, i)) }

func (p Plan) spiffe(node int) string {
	id, region := p.Node(node)
	spiffe, err := identity.RelayID(trustDomain, region, id)
	if err != nil {
		panic(err) // of names that are all made here
	}
	return spiffe.String()
}

// moved says whether a tenant has a migration behind it.
func (p Plan) moved(tenant int) bool { return tenant%each == 0 }

// version is that of a tenant's placement: a migration that began and was aborted raised it twice (P15).
func (p Plan) version(tenant int) int64 {
	if p.moved(tenant) {
		return 3
	}
	return 1
}

// target is the node that such a migration was bound for: the next of the region.
func (p Plan) target(tenant int) int { return (p.Holder(tenant) + p.Regions) % p.Nodes }

// boundless is what a node reports that has no limit of its own.
func boundless() placement.Capacity { return placement.Boundless() }
