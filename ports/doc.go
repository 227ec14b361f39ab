// Package ports holds what the application needs from outside, as small role interfaces, one package per need. The
// word is used as in "driven ports": an adapter implements one, a use case calls it. What calls the application (HTTP,
// a command line) needs no port.
//
// Beside each port stands a package of the same name ending in "test": a fake that is a small real implementation, and
// a conformance suite that proves an adapter in one call.
package ports
