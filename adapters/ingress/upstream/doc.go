// Package upstream sends requests to the control plane's internal listener: over a Unix socket, or over TLS 1.3 to a
// server whose key is pinned or whose CA is known, with a client certificate (DESIGN §1).
//
// It stands in for net/http's Transport where that does more than an ingress may. A request is written once, byte for byte
// as it was asserted: no target is cleaned or encoded anew, no header added, no proxy taken from the environment. And it is
// never repeated by itself: the Transport repeats what it takes for idempotent, on a connection that died, with the same
// assertion. Here only a connection that could not be opened leads to another attempt, since nothing was sent yet.
package upstream
