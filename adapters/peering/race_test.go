//go:build race

package peering_test

// tunnelRounds are fewer under the race detector, whose handshakes take ten times as long.
const tunnelRounds = 1_000
