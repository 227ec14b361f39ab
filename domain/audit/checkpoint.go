package audit

import (
	"encoding/binary"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

const (
	checkpointTag  = "berth/audit/checkpoint/v1"
	checkpointSize = 8 + len(checkpointTag) + 8 + 32 + 8 + 8
	maxUnix        = 253402300799 // the last second of the year 9999
)

// Checkpoint states that a chain had a head at a time. Signed, it proves later that nothing up to it was touched.
type Checkpoint struct {
	Sequence int64
	Head     [32]byte
	Time     time.Time
}

// NewCheckpoint states where a chain ends now.
func NewCheckpoint(head Head, now time.Time) Checkpoint {
	return Checkpoint{Sequence: head.Sequence, Head: head.Hash, Time: ident.Instant(now)}
}

// Through returns the head to verify a chain against, up to and including the checkpoint's sequence.
func (c Checkpoint) Through() Head { return Head{Sequence: c.Sequence, Hash: c.Head} }

// Bytes returns what is signed: the tag with its length in front, sequence, head, and time as seconds and nanoseconds,
// each number as 8 bytes big-endian. The tag keeps the signature from meaning anything else.
func (c Checkpoint) Bytes() []byte {
	b := appendText(make([]byte, 0, checkpointSize), checkpointTag)
	b = appendNumber(b, c.Sequence)
	b = append(b, c.Head[:]...)
	return appendTime(b, c.Time)
}

// ParseCheckpoint reads what Bytes wrote, once its signature is verified. Anything else is Invalid
// audit_checkpoint_malformed.
func ParseCheckpoint(b []byte) (Checkpoint, error) {
	prefix := appendText(nil, checkpointTag)
	if len(b) != checkpointSize || string(b[:len(prefix)]) != string(prefix) {
		return Checkpoint{}, malformed()
	}
	rest := b[len(prefix):]
	c := Checkpoint{Sequence: number(rest), Head: [32]byte(rest[8:40])}
	seconds, nanos := number(rest[40:]), number(rest[48:])
	if ident.Counter("sequence", c.Sequence) != nil || seconds < 0 || seconds > maxUnix ||
		nanos < 0 || nanos >= int64(time.Second) {
		return Checkpoint{}, malformed()
	}
	c.Time = time.Unix(seconds, nanos).UTC()
	return c, nil
}

func number(b []byte) int64 {
	return int64(binary.BigEndian.Uint64(b)) //nolint:gosec // the bits, not the value
}

func malformed() *fault.Error {
	return fault.New(fault.Invalid, "audit_checkpoint_malformed", "these are not the bytes of an audit checkpoint")
}
