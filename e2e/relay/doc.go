// Package relay holds the stories of the relay half, told through HTTP against the built berthd on SQLite. The tests
// play the nodes.
package relay
