//go:build !race

package peering_test

const tunnelRounds = 10_000
