package audit_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"berth/domain/audit"
	"berth/domain/fault"
)

func hexOf(hash [32]byte) string { return hex.EncodeToString(hash[:]) }

func details(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("k%d", i)] = "v"
	}
	return out
}

// A draft at every bound is accepted; one step past any bound is refused with the slug and field of what is wrong.
func TestDraftBounds(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 300)
	good := map[string]func(*audit.Draft){
		"as usual":    func(*audit.Draft) {},
		"no detail":   func(d *audit.Draft) { d.Detail = nil },
		"full detail": func(d *audit.Draft) { d.Detail = details(audit.MaxDetails) },
		"long values": func(d *audit.Draft) {
			d.Detail = map[string]string{long[:audit.MaxDetailKey]: strings.Repeat("é", audit.MaxDetailValue/2)}
		},
		"nested subject": func(d *audit.Draft) { d.Subject = "tenant/acme/principal/prn_01J:x@Y" },
		"longest texts": func(d *audit.Draft) {
			d.Subject, d.Action = "t/"+long[:audit.MaxSubject-2], "a."+long[:audit.MaxAction-2]
			d.Actor.ID, d.Actor.Source = long[:audit.MaxActorText], ""
		},
	}
	for name, change := range good {
		d := draftOf(1)
		change(&d)
		if err := d.Check(); err != nil {
			t.Errorf("%s: refused: %v", name, err)
		}
	}
	bad := []struct {
		slug   string
		change func(*audit.Draft)
	}{
		{"audit_time_missing", func(d *audit.Draft) { d.At = time.Time{} }},
		{"audit_actor_invalid", func(d *audit.Draft) { d.Actor.Kind = "robot" }},
		{"audit_actor_invalid", func(d *audit.Draft) { d.Actor.Kind = "" }},
		{"audit_actor_invalid", func(d *audit.Draft) { d.Actor.ID = "" }},
		{"audit_actor_invalid", func(d *audit.Draft) { d.Actor.ID = long[:audit.MaxActorText+1] }},
		{"audit_actor_invalid", func(d *audit.Draft) { d.Actor.Source = "a\x00b" }},
		{"audit_action_invalid", func(d *audit.Draft) { d.Action = "created" }},
		{"audit_action_invalid", func(d *audit.Draft) { d.Action = "Tenant.created" }},
		{"audit_action_invalid", func(d *audit.Draft) { d.Action = "tenant..created" }},
		{"audit_action_invalid", func(d *audit.Draft) { d.Action = "tenant.1st" }},
		{"audit_action_invalid", func(d *audit.Draft) { d.Action = "a." + long[:audit.MaxAction-1] }},
		{"audit_subject_invalid", func(d *audit.Draft) { d.Subject = "tenant" }},
		{"audit_subject_invalid", func(d *audit.Draft) { d.Subject = "tenant/" }},
		{"audit_subject_invalid", func(d *audit.Draft) { d.Subject = "/acme" }},
		{"audit_subject_invalid", func(d *audit.Draft) { d.Subject = "tenant/a//b" }},
		{"audit_subject_invalid", func(d *audit.Draft) { d.Subject = "tenant/../b" }},
		{"audit_subject_invalid", func(d *audit.Draft) { d.Subject = "tenant/a b" }},
		{"audit_subject_invalid", func(d *audit.Draft) { d.Subject = "t/" + long[:audit.MaxSubject-1] }},
		{"audit_detail_invalid", func(d *audit.Draft) { d.Detail = details(audit.MaxDetails + 1) }},
		{"audit_detail_invalid", func(d *audit.Draft) { d.Detail[""] = "v" }},
		{"audit_detail_invalid", func(d *audit.Draft) { d.Detail["Key"] = "v" }},
		{"audit_detail_invalid", func(d *audit.Draft) { d.Detail[long[:audit.MaxDetailKey+1]] = "v" }},
		{"audit_detail_invalid", func(d *audit.Draft) { d.Detail["k"] = strings.Repeat("v", audit.MaxDetailValue+1) }},
		{"audit_detail_invalid", func(d *audit.Draft) { d.Detail["k"] = "\xff" }},
		{"audit_detail_invalid", func(d *audit.Draft) { d.Detail["k"] = "a\x00" }},
	}
	for i, c := range bad {
		d := draftOf(1)
		c.change(&d)
		err := d.Check()
		if fault.SlugOf(err) != c.slug || fault.KindOf(err) != fault.Invalid {
			t.Errorf("case %d: got %v, want %s", i, err, c.slug)
		}
	}
}

// Everything that is wrong with a draft is named at once.
func TestDraftNamesEveryProblem(t *testing.T) {
	t.Parallel()
	f, ok := fault.As(audit.Draft{}.Check())
	if !ok || len(f.Errors) != 4 {
		t.Fatalf("an empty draft has four problems, got %+v", f)
	}
}
