// Package ingress terminates mutual TLS for relay nodes in front of the control plane's internal listener (I2, I3). It
// proves who a node is by its certificate, refuses every request that two programs could read in two ways, takes out what a
// client may claim about itself, and adds one assertion of what it saw.
//
// TLS 1.3 and HTTP/1.1 only, without session resumption: whole classes of tricks have no place to begin. net/http reads
// requests; nothing of one is passed on as it came but the target, the host and the body, which are asserted, and a few
// headers by name: the request that the control plane gets is written anew (package upstream).
package ingress
