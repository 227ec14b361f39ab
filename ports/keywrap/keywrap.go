// Package keywrap wraps small secrets under a key that never leaves its keeper (R4, D3, DESIGN §14): tenant keys, secret
// parameters that wait for their agent, peppers.
package keywrap

import "context"

// MaxSecret is the longest secret in bytes.
const MaxSecret = 64 << 10

// Wrapper wraps and unwraps. Its methods are safe for concurrent use and neither keep nor change what they are given.
// Unavailable keywrap_unavailable where the keeper does not answer or refuses, or the context ended first; trying again is
// safe. Internal wrap_binding for an empty binding.
type Wrapper interface {
	// Wrap returns ciphertext that only Unwrap with the same binding opens. The binding says what the secret is and whose,
	// such as "parameter/ins_1/shop/password": a ciphertext that was moved elsewhere does not open. It is no secret. Each
	// call wraps anew. Invalid secret_size.
	Wrap(ctx context.Context, binding string, secret []byte) ([]byte, error)
	// Unwrap returns the secret. Invalid wrapped_invalid for what was not made by Wrap with this binding.
	Unwrap(ctx context.Context, binding string, wrapped []byte) ([]byte, error)
}
