package audit_test

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"pgregory.net/rapid"

	"berth/domain/audit"
)

func at(second int64) time.Time { return time.Unix(1_700_000_000+second, 123_456_000).UTC() }

func draftOf(n int) audit.Draft {
	return audit.Draft{
		At:      at(int64(n)),
		Actor:   audit.Actor{Kind: audit.ActorOperator, ID: "tok_01", Source: "192.0.2.1"},
		Action:  "tenant.created",
		Subject: fmt.Sprintf("tenant/t%d", n),
		Detail:  map[string]string{"region": "eu", "revision": strconv.Itoa(n)},
	}
}

func drawDraft(t *rapid.T, label string) audit.Draft {
	text := rapid.StringN(0, 12, 40)
	return audit.Draft{
		At:      at(rapid.Int64Range(0, 1<<32).Draw(t, label+" at")),
		Actor:   audit.Actor{Kind: audit.ActorNode, ID: text.Draw(t, label+" id"), Source: text.Draw(t, label+" source")},
		Action:  text.Draw(t, label+" action"),
		Subject: text.Draw(t, label+" subject"),
		Detail:  rapid.MapOfN(text, text, 0, 5).Draw(t, label+" detail"),
	}
}

func chainOf(drafts ...audit.Draft) (audit.Head, []audit.Entry) {
	var head audit.Head
	entries := make([]audit.Entry, 0, len(drafts))
	for _, d := range drafts {
		e := audit.Seal(head, d)
		entries = append(entries, e)
		head = e.Head()
	}
	return head, entries
}

func chain(n int) (audit.Head, []audit.Entry) {
	drafts := make([]audit.Draft, n)
	for i := range drafts {
		drafts[i] = draftOf(i + 1)
	}
	return chainOf(drafts...)
}

func drawChain(t *rapid.T, least int) (audit.Head, []audit.Entry) {
	n := rapid.IntRange(least, 8).Draw(t, "length")
	drafts := make([]audit.Draft, n)
	for i := range drafts {
		drafts[i] = drawDraft(t, strconv.Itoa(i))
	}
	return chainOf(drafts...)
}

func wantBreak(t interface{ Fatalf(string, ...any) }, err error, sequence int64, damage audit.Damage) {
	var b *audit.Break
	if !errors.As(err, &b) {
		t.Fatalf("the broken chain was accepted: %v", err)
		return
	}
	if b.Sequence != sequence || b.Damage != damage {
		t.Fatalf("got %s at %d, want %s at %d", b.Damage, b.Sequence, damage, sequence)
	}
}

func mustVerify(t interface{ Fatalf(string, ...any) }, head audit.Head, entries []audit.Entry) {
	if err := audit.Verify(head, entries); err != nil {
		t.Fatalf("a sound chain was refused: %v", err)
	}
}

func copyEntry(e audit.Entry) audit.Entry {
	e.Detail = maps.Clone(e.Detail)
	return e
}
