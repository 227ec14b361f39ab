// Package agesealer seals by age (age-encryption.org/v1) to X25519 keys. What it makes is a binary age file, which age's
// own tools make and open, too, given the frame of package sealing.
package agesealer

import (
	"bytes"
	"io"

	"filippo.io/age"

	"berth/domain/fault"
	"berth/ports/sealing"
)

// maxRecipient is longer than any X25519 recipient, which has 62 characters.
const maxRecipient = 128

// maxSealed is the longest text that is opened: a frame, and far more than age writes around one for one recipient.
const maxSealed = sealing.MaxFrame + 4096

// Sealer is a sealing.Sealer. Its zero value is ready.
type Sealer struct{}

var _ sealing.Sealer = Sealer{}

// Check refuses what is not one X25519 recipient, which age reads in one way to write it only, and a key that agrees to nothing.
func (Sealer) Check(recipient string) error {
	_, err := parse(recipient)
	return err
}

// Seal returns an age file for one recipient.
func (Sealer) Seal(recipient string, place sealing.Place, value []byte) ([]byte, error) {
	to, err := parse(recipient)
	if err != nil {
		return nil, err
	}
	frame, err := sealing.Frame(place, value)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w, err := age.Encrypt(&out, to)
	if err == nil {
		_, err = w.Write(frame)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fault.New(fault.Internal, "seal_failed", "a value could not be sealed").Because(err)
	}
	return out.Bytes(), nil
}

func parse(recipient string) (*age.X25519Recipient, error) {
	if len(recipient) > maxRecipient {
		return nil, sealing.SealKeyInvalid()
	}
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, sealing.SealKeyInvalid().Because(err)
	}
	if _, err := to.Wrap(make([]byte, 16)); err != nil { // a point of low order, with which everybody agrees on the same key
		return nil, sealing.SealKeyInvalid().Because(err)
	}
	return to, nil
}

// Opener is a sealing.Opener. Use NewOpener.
type Opener struct{ identity *age.X25519Identity }

var _ sealing.Opener = (*Opener)(nil)

// NewIdentity makes a key: the identity to be kept secret, and the recipient to be given out.
func NewIdentity() (identity, recipient string, err error) {
	made, err := age.GenerateX25519Identity()
	if err != nil {
		return "", "", fault.New(fault.Internal, "seal_key_not_made", "no key could be made").Because(err)
	}
	return made.String(), made.Recipient().String(), nil
}

// NewOpener returns an opener for an identity that NewIdentity made. Fault: Invalid seal_identity_invalid, which repeats
// nothing of the text.
func NewOpener(identity string) (*Opener, error) {
	parsed, err := age.ParseX25519Identity(identity)
	if err != nil { // not kept as the cause: it may repeat what it could not read
		return nil, fault.New(fault.Invalid, "seal_identity_invalid", "this is no age identity")
	}
	return &Opener{parsed}, nil
}

// Open opens an age file whose frame is for the place.
func (o *Opener) Open(place sealing.Place, sealed []byte) ([]byte, error) {
	if len(sealed) > maxSealed {
		return nil, sealing.SealedInvalid()
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), o.identity)
	if err != nil {
		return nil, sealing.SealedInvalid().Because(err)
	}
	frame, err := io.ReadAll(io.LimitReader(r, int64(sealing.MaxFrame)+1))
	if err != nil || len(frame) > sealing.MaxFrame {
		return nil, sealing.SealedInvalid().Because(err)
	}
	return sealing.Unframe(place, frame)
}
