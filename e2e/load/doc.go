// Package load measures the control plane through HTTP, as nodes and operators use it: run by make bench, never by a
// timed test. The load comes from the same machine, so every figure is of client and server together.
package load
