// Package placement decides where a tenant lives and how it moves (DESIGN §3, seed 000).
//
// Three counters carry the safety of it, and each only grows: a placement's generation (raised by exactly one at the
// switch of a migration, P5), its version (raised by every change, P15) and a node's heartbeat generation (raised when
// another process registers as that node, P10). Whoever acts on an old one is refused.
//
//   - Node and Lease are a relay node: what operators decided of it, and the hot row its heartbeats write.
//   - Placement and Migration are a tenant's place and the record around its move. Their events go through Migration,
//     which steps both machines together or neither.
//   - Watch is how the control plane counts a lease without comparing wall clocks (P9).
//   - Warrant is a node's own right to write (P8, P16), kept here so that both sides read one set of rules.
//
// Everything takes the time as an argument; nothing here reads a clock.
package placement
