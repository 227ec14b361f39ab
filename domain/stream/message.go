// Package stream holds the rules of what a tenant's Engine takes in: messages of routes, attachments, and how much of
// both (R1, R2).
package stream

import (
	"bytes"
	"encoding/json"

	"berth/domain/fault"
	"berth/domain/ident"
)

// MaxID is the longest id that a device may give a message, and MaxBody the longest body, in bytes.
const (
	MaxID   = 64
	MaxBody = 48 << 10
)

// CheckID accepts 1 to MaxID printable ASCII characters without spaces. Fault: Invalid publish_id_invalid.
func CheckID(id string) *fault.Error {
	if len(id) > 0 && len(id) <= MaxID && printable(id) {
		return nil
	}
	return fault.New(fault.Invalid, "publish_id_invalid", "an id is 1 to %d printable ASCII characters without spaces", MaxID).At("id")
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// CheckSize accepts a body of at most MaxBody bytes, and none that is empty. Faults: Invalid body_missing, body_too_large.
func CheckSize(body []byte) *fault.Error {
	switch {
	case len(body) == 0:
		return fault.New(fault.Invalid, "body_missing", "a message has a body").At("body")
	case len(body) > MaxBody:
		return fault.New(fault.Invalid, "body_too_large", "a body is at most %d bytes", MaxBody).At("body").
			Curable("upload what is larger as an attachment, and publish its digest")
	}
	return nil
}

// CheckBody accepts a JSON value of such a size. Faults: those of CheckSize; Invalid body_not_json.
func CheckBody(body []byte) *fault.Error {
	if err := CheckSize(body); err != nil {
		return err
	}
	if !json.Valid(body) {
		return fault.New(fault.Invalid, "body_not_json", "a body is one JSON value").At("body")
	}
	return nil
}

// Repeats says whether a message that comes under an id used before is the one of then, byte for byte.
// Fault: Conflict publish_id_reused.
func Repeats(before, now []byte) *fault.Error {
	if bytes.Equal(before, now) {
		return nil
	}
	return fault.New(fault.Conflict, "publish_id_reused", "the id was used for another message on this route").At("id").
		Curable("give every message an id of its own")
}

// Next is the sequence after the last of a route. Fault: Exhausted route_exhausted.
func Next(last int64) (int64, *fault.Error) {
	if last >= MaxSequence {
		return 0, fault.New(fault.Exhausted, "route_exhausted", "the route takes no more messages")
	}
	return last + 1, nil
}

// MaxSequence is the last that a route can have: an Engine may keep route and sequence in one number.
const MaxSequence = 1<<40 - 1

// CheckAfter accepts a sequence to subscribe after that the route has reached. Faults: Invalid out_of_range,
// after_beyond_end.
func CheckAfter(after, head int64) *fault.Error {
	if err := ident.Counter("after", after); err != nil {
		return err
	}
	if after > head {
		return fault.New(fault.Invalid, "after_beyond_end", "the route ends at %d", head).At("after").
			Curable("subscribe after a sequence that was seen on this route")
	}
	return nil
}
