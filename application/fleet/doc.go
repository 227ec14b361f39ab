// Package fleet holds the use cases of relay nodes and of where tenants live on them: regions, nodes, heartbeats and
// node leases, first placement and its queue, every step of a migration, recovery, and the sweeps that carry all of it
// on after a crash (DESIGN §3).
//
// Each use case is one transaction (Copied is two, P5): it spends the caller's ticket, asks the access table before it
// reveals anything, lets the domain decide, writes audit, and publishes hints only after the commit. Hints may be lost;
// nothing here depends on them.
//
// Within a transaction rows are taken in one order, so that two of them can not wait for one another: the migration,
// its placement, nodes by id, leases.
package fleet
