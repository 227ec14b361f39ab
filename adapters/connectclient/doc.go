// Package connectclient is how a device uses Berth: its key and the tokens that it gets by it, the Connect protocol at its
// region's origin with all that a device does to stay connected (R2), and attachments. Command line, tests and load are
// built on it.
package connectclient
