// Package load measures the control plane through HTTP, as nodes, devices and operators use it, on each store that it
// has. It is run by make bench and by the scale run, never by a timed test. The load comes from the same machine, so a
// rate is of client, server and database together; what each costs is said apart, per operation.
package load
