// Package sealing seals a secret value to an agent's key, so that nobody but the agent opens it (D3).
package sealing

// Place is where a sealed value belongs. It is sealed with the value, and whoever opens it checks it, so that a
// ciphertext can not be moved.
type Place struct {
	InstallID string
	App       string
	Parameter string
}

// Sealer seals.
type Sealer interface {
	// Check refuses what is no recipient: Invalid seal_key_invalid.
	Check(recipient string) error
	// Seal returns ciphertext that the recipient's key opens and nothing else. Each call seals anew. Invalid
	// seal_key_invalid, secret_size.
	Seal(recipient string, place Place, value []byte) ([]byte, error)
}

// Opener opens, in the agent.
type Opener interface {
	// Open returns the value. Invalid sealed_invalid for what was sealed to another key; Invalid sealed_elsewhere for
	// what belongs to another place.
	Open(place Place, sealed []byte) ([]byte, error)
}
