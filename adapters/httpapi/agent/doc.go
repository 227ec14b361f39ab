// Package agent is the HTTP API of agents in customers' clusters, /agent/v1 (G1, G2, D1), and the one-time links of
// delivery packages, /packages/v1 (K1).
package agent
