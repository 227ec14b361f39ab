// Package relay is a relay node's own life: it keeps its identity, registers, lives by its lease, follows what it is
// told of its tenants, serves their devices, and refuses whatever it has no warrant for (P3, P4, P6, P8–P10, P15, P16, A2–A8,
// I5, R1–R3).
//
// Everything that permits or forbids is a rule of domain/placement and domain/authorization; this package brings the
// facts together and asks them at the instant of each question. What may be decided again after a crash is kept by
// ports/engine before it is acted on.
//
//   - Node.Run is the life of the process; Gate is the one place that answers whether a tenant may be read or written.
//   - One queue of tenants and a few workers do all that is due of them, level-triggered: what is told and what is on the
//     disk decide the next act (placement.Follow), never what was done before.
//   - Ages and leases count from before a request was sent, on a clock that runs on through suspend.
//   - A tenant that devices use has a room: while it has one, and only then, the node is told of its authorization, and its
//     Engine is open while the gate permits reading. A hub is that open Engine with its sessions: one guard ends all of them.
//   - Messages are pulled: what is released of a route wakes whoever waits for it, and each session takes from where it is,
//     so that nothing queues up for one that does not read. No session has a goroutine.
package relay
