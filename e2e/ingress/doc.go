// Package ingress proves a deployment of the ingress and the control plane as they are shipped: one process, two over a Unix
// socket or pinned TLS, and containers with two replicas on Postgres. It runs what berthctl ingress verify runs, and
// what only a test can: it holds the secrets, shifts clocks, and rotates everything under traffic.
package ingress
