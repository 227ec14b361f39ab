// Package ids is how Berth asks for names and secrets that nobody can guess or give twice. Domain and application take
// randomness from here only, so that a simulation can give it by seed.
package ids

// Source gives ids and secrets. Its methods are safe for concurrent use, and do not fail: a machine without a source of
// randomness must not go on.
type Source interface {
	// New returns prefix, an underscore and 26 characters of a lower-case ULID: "mig" gives "mig_01jq…". What one source
	// gives is unique and sorts, as bytes, in the order in which it was given; ids of several replicas sort by
	// millisecond. The 80 random bits make an id unique; they are not a secret.
	New(prefix string) string
	// Secret returns n cryptographically random bytes. The caller owns the slice.
	Secret(n int) []byte
}
