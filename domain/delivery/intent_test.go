package delivery_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"berth/domain/delivery"
	"berth/domain/ident"
)

var intentNoon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func intentEvents() map[string]func(*delivery.Intent, time.Time, string) bool {
	return map[string]func(*delivery.Intent, time.Time, string) bool{
		"deliver": (*delivery.Intent).Deliver, "succeed": (*delivery.Intent).Succeed, "roll back": (*delivery.Intent).RollBack,
		"fail": (*delivery.Intent).Fail, "supersede": (*delivery.Intent).Supersede,
	}
}

// The machine is API.md's: accepted, delivering, and one of four ends that nothing leads out of.
func TestIntentDiagram(t *testing.T) {
	t.Parallel()
	want := []string{
		"accepted -deliver-> delivering",
		"accepted -succeed-> succeeded", "delivering -succeed-> succeeded",
		"accepted -roll back-> rolled_back", "delivering -roll back-> rolled_back",
		"accepted -fail-> failed", "delivering -fail-> failed",
		"accepted -supersede-> superseded", "delivering -supersede-> superseded",
	}
	var got []string
	for _, e := range delivery.IntentDiagram() {
		got = append(got, e.From+" -"+e.Event+"-> "+e.To)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Every event in every state does what the diagram shows, and where it shows nothing changes nothing at all.
func TestEveryEventInEveryStateOfAnIntent(t *testing.T) {
	t.Parallel()
	states := []delivery.IntentState{
		delivery.IntentAccepted, delivery.IntentDelivering, delivery.IntentSucceeded, delivery.IntentRolledBack,
		delivery.IntentFailed, delivery.IntentSuperseded,
	}
	to := map[[2]string]string{}
	for _, e := range delivery.IntentDiagram() {
		to[[2]string{e.From, e.Event}] = e.To
	}
	later := intentNoon.Add(time.Hour + 1)
	for _, state := range states {
		for name, event := range intentEvents() {
			before := delivery.IntentRecord{ID: "int_1", State: state, Detail: "before", CreatedAt: intentNoon, ChangedAt: intentNoon}
			v := delivery.RestoreIntent(before)
			changed := event(v, later, "after")
			got, next, want := v.Record(), to[[2]string{string(state), name}], before
			if next != "" {
				want.State, want.Detail, want.ChangedAt = delivery.IntentState(next), "after", ident.Instant(later)
				if next != "delivering" {
					want.EndedAt = want.ChangedAt
				}
			}
			if changed != (next != "") || !sameIntent(got, want) {
				t.Errorf("%s in %s: changed %t, became %+v", name, state, changed, got)
			}
			if v.InFlight() == (got.State != delivery.IntentAccepted && got.State != delivery.IntentDelivering) {
				t.Errorf("%s is in flight: %t", got.State, v.InFlight())
			}
		}
	}
}

func sameIntent(a, b delivery.IntentRecord) bool {
	waived := slices.Equal(a.Waived, b.Waived)
	a.Waived, b.Waived = nil, nil
	return waived && a.ID == b.ID && a.State == b.State && a.Detail == b.Detail && a.CreatedAt.Equal(b.CreatedAt) &&
		a.ChangedAt.Equal(b.ChangedAt) && a.EndedAt.Equal(b.EndedAt)
}

// A new intent is accepted, holds what was granted, and shares nothing with whoever made or read it.
func TestNewIntentIsAccepted(t *testing.T) {
	t.Parallel()
	waived := []string{"quota_exceeded"}
	v := delivery.NewIntent(delivery.Granted{
		ID: "int_1", InstallID: "ins_1", License: "lic_1", App: "shop", Action: delivery.Upgrade, Version: "2.0.0", From: "1.0.0",
		Revision: 7, Waived: waived,
	}, intentNoon.Add(1))
	waived[0] = "changed"
	r := v.Record()
	r.Waived[0] = "changed"
	r = v.Record()
	if r.ID != "int_1" || r.InstallID != "ins_1" || r.License != "lic_1" || r.App != "shop" || r.Action != delivery.Upgrade ||
		r.Version != "2.0.0" || r.From != "1.0.0" || r.State != delivery.IntentAccepted || r.Revision != 7 ||
		!slices.Equal(r.Waived, []string{"quota_exceeded"}) || !r.CreatedAt.Equal(intentNoon) || !r.ChangedAt.Equal(intentNoon) || !r.EndedAt.IsZero() {
		t.Errorf("got %+v", r)
	}
	if !v.InFlight() {
		t.Error("it is not in flight")
	}
}

// What an agent says is bounded, and stays text.
func TestDetailOfAnIntentIsBounded(t *testing.T) {
	t.Parallel()
	v := delivery.NewIntent(delivery.Granted{}, intentNoon)
	v.Fail(intentNoon, strings.Repeat("€", 1000)+"\xff")
	if d := v.Record().Detail; len(d) > 1024 || len(d) < 1000 || !utf8.ValidString(d) {
		t.Errorf("%d bytes, valid %t", len(d), utf8.ValidString(d))
	}
}
