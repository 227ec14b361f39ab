// Package sealing seals a secret value to an agent's key, so that nobody but the agent opens it (D3).
package sealing

import (
	"strings"

	"berth/domain/fault"
)

// MaxValue is the longest value in bytes.
const MaxValue = 64 << 10

// MaxName is the longest part of a Place in bytes.
const MaxName = 128

// Place is where a sealed value belongs. It is sealed with the value, and whoever opens it checks it, so that a
// ciphertext can not be moved.
type Place struct {
	InstallID string
	App       string
	Parameter string
}

// Sealer seals. Its methods are safe for concurrent use and neither keep nor change what they are given.
type Sealer interface {
	// Check refuses what is no recipient: Invalid seal_key_invalid.
	Check(recipient string) error
	// Seal returns ciphertext that the recipient's key opens and nothing else. Each call seals anew. Invalid
	// seal_key_invalid, secret_size; Internal seal_place for a place that names nothing.
	Seal(recipient string, place Place, value []byte) ([]byte, error)
}

// Opener opens, in the agent. Its methods are safe for concurrent use.
type Opener interface {
	// Open returns the value. Invalid sealed_invalid for what was sealed to another key, damaged, or sealed by no Sealer;
	// Invalid sealed_elsewhere for what belongs to another place.
	Open(place Place, sealed []byte) ([]byte, error)
}

// The frame is what is sealed: five lines, the last of which is the value and may have more. A customer's own tools can
// write it.
const frameLine = "berth-secret-1\n"

// MaxFrame is the longest frame in bytes.
const MaxFrame = len(frameLine) + 3*(MaxName+1) + MaxValue

// Frame returns what is sealed for a place. Faults: Invalid secret_size; Internal seal_place.
func Frame(place Place, value []byte) ([]byte, error) {
	if !place.sound() {
		return nil, fault.New(fault.Internal, "seal_place", "a value was to be sealed for nothing in particular")
	}
	if len(value) > MaxValue {
		return nil, fault.New(fault.Invalid, "secret_size", "a secret has at most %d bytes, this one has %d", MaxValue, len(value))
	}
	return append([]byte(place.head()), value...), nil
}

// Unframe returns the value of a frame that was sealed for the place. Faults: Invalid sealed_invalid for what is no frame;
// Invalid sealed_elsewhere for another place's.
func Unframe(place Place, frame []byte) ([]byte, error) {
	text, ok := strings.CutPrefix(string(frame), frameLine)
	parts := strings.SplitN(text, "\n", 4)
	if !ok || len(parts) != 4 || len(parts[3]) > MaxValue {
		return nil, SealedInvalid()
	}
	if (Place{parts[0], parts[1], parts[2]}) != place || !place.sound() {
		return nil, fault.New(fault.Invalid, "sealed_elsewhere", "this was sealed for another installation, app or parameter")
	}
	return []byte(parts[3]), nil
}

func (p Place) head() string {
	return frameLine + p.InstallID + "\n" + p.App + "\n" + p.Parameter + "\n"
}

func (p Place) sound() bool {
	for _, name := range []string{p.InstallID, p.App, p.Parameter} {
		if name == "" || len(name) > MaxName || strings.ContainsAny(name, "\r\n\x00") {
			return false
		}
	}
	return true
}

// SealKeyInvalid is the fault for what is no recipient.
func SealKeyInvalid() *fault.Error {
	return fault.New(fault.Invalid, "seal_key_invalid", "this is no key that can be sealed to").
		Curable("give the public key that the agent made, which starts with age1")
}

// SealedInvalid is the fault for what can not be opened. It says no more than that.
func SealedInvalid() *fault.Error {
	return fault.New(fault.Invalid, "sealed_invalid", "this was not sealed to this key, or is damaged")
}
