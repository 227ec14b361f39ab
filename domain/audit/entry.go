package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"berth/domain/ident"
)

const entryTag = "berth/audit/entry/v1"

// Head is the end of a chain: the last entry's sequence and hash. The zero value is the empty chain.
type Head struct {
	Sequence int64
	Hash     [32]byte
}

// Entry is one link of the chain. Sequence counts from 1 without gaps; Previous is the hash of the entry before, zero
// for the first.
type Entry struct {
	Sequence int64
	At       time.Time
	Actor    Actor
	Action   string
	Subject  string
	Detail   map[string]string
	Previous [32]byte
	Hash     [32]byte
}

// Head returns the head of a chain that ends here.
func (e Entry) Head() Head { return Head{Sequence: e.Sequence, Hash: e.Hash} }

// Seal gives a draft its place behind a head. It takes any draft: Draft.Check comes first. The entry shares nothing with
// the draft, and its time is an ident.Instant.
func Seal(head Head, draft Draft) Entry {
	e := Entry{
		Sequence: head.Sequence + 1, At: ident.Instant(draft.At), Actor: draft.Actor, Action: draft.Action,
		Subject: draft.Subject, Previous: head.Hash,
	}
	if len(draft.Detail) > 0 {
		e.Detail = maps.Clone(draft.Detail)
	}
	e.Hash = e.digest()
	return e
}

// digest is SHA-256 over the tag and every field but Hash: numbers as 8 bytes big-endian, text with its length in front,
// the detail as its count and then keys and values in the order of the keys. No two entries have the same encoding.
func (e Entry) digest() [32]byte {
	b := make([]byte, 0, 512)
	b = appendText(b, entryTag)
	b = appendNumber(b, e.Sequence)
	b = appendTime(b, e.At)
	for _, text := range []string{string(e.Actor.Kind), e.Actor.ID, e.Actor.Source, e.Action, e.Subject} {
		b = appendText(b, text)
	}
	b = appendNumber(b, int64(len(e.Detail)))
	for _, key := range slices.Sorted(maps.Keys(e.Detail)) {
		b = appendText(b, key)
		b = appendText(b, e.Detail[key])
	}
	b = append(b, e.Previous[:]...)
	return sha256.Sum256(b)
}

func appendNumber(b []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // the bits, not the value
}

func appendText(b []byte, text string) []byte {
	return append(appendNumber(b, int64(len(text))), text...)
}

// appendTime writes the instant to the nanosecond, so that no change of it goes unseen; the time zone is not part of it.
func appendTime(b []byte, t time.Time) []byte {
	return appendNumber(appendNumber(b, t.Unix()), int64(t.Nanosecond()))
}
