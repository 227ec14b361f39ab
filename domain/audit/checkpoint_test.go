package audit_test

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"berth/domain/audit"
	"berth/domain/fault"
)

// What is signed can be read back, and two checkpoints that differ never have the same bytes.
func TestCheckpointBytes(t *testing.T) {
	t.Parallel()
	draw := func(t *rapid.T, label string) audit.Checkpoint {
		head := audit.Head{Sequence: rapid.Int64Range(0, 1<<53-1).Draw(t, label+" sequence")}
		copy(head.Hash[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, label+" hash"))
		return audit.NewCheckpoint(head, at(rapid.Int64Range(0, 1<<33).Draw(t, label+" time")))
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := draw(t, "a"), draw(t, "b")
		got, err := audit.ParseCheckpoint(a.Bytes())
		if err != nil || got != a {
			t.Fatalf("wrote %+v, read %+v, %v", a, got, err)
		}
		if bytes.Equal(a.Bytes(), b.Bytes()) != (a == b) {
			t.Fatalf("%+v and %+v share their bytes", a, b)
		}
	})
}

// Bytes of any other length, tag or range are refused.
func TestCheckpointRefusals(t *testing.T) {
	t.Parallel()
	head, _ := chain(3)
	sound := audit.NewCheckpoint(head, at(1)).Bytes()
	last := len(sound) - 1
	set := func(i int, v byte) []byte {
		b := bytes.Clone(sound)
		b[i] = v
		return b
	}
	negative := audit.Checkpoint{Sequence: -1, Time: at(1)}.Bytes()
	huge := audit.Checkpoint{Sequence: 1 << 53, Time: at(1)}.Bytes()
	distant := audit.Checkpoint{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}.Bytes()
	early := audit.Checkpoint{Time: time.Unix(-1, 0)}.Bytes()
	for i, b := range [][]byte{
		nil, sound[:last], append(bytes.Clone(sound), 0), set(0, 1), set(9, 'B'), set(last-7, 0x80), set(last-3, 0xff),
		set(last-15, 0x7f), negative, huge, early, distant,
	} {
		if c, err := audit.ParseCheckpoint(b); fault.SlugOf(err) != "audit_checkpoint_malformed" {
			t.Errorf("case %d: read %+v, %v", i, c, err)
		}
	}
}

// A signed checkpoint finds a history that was written anew from the start, which the chain alone cannot.
func TestCheckpointFindsRewrittenHistory(t *testing.T) {
	t.Parallel()
	head, entries := chain(4)
	checkpoint := audit.NewCheckpoint(head, at(100))
	_, longer := chain(6)
	mustVerify(t, checkpoint.Through(), entries)
	mustVerify(t, checkpoint.Through(), longer[:4])
	forgedHead, forged := chainOf(draftOf(9), draftOf(8), draftOf(7), draftOf(6))
	mustVerify(t, forgedHead, forged)
	wantBreak(t, audit.Verify(checkpoint.Through(), forged), 4, audit.DamageAltered)
}
