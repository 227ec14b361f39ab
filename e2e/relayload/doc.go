// Package relayload measures the data plane of a relay node from outside: devices over TLS and WebSocket, a berth-relay that
// is a process of its own, and a control plane behind it. The server shares the machine with those who load it, so they are
// as light as can be.
package relayload
