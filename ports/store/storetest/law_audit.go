package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/store"
)

func auditLaws() []law.Law[store.Store] {
	return []law.Law[store.Store]{
		promise("audit entries come back as they were sealed", auditWhole),
		promise("the audit chain verifies after appends at once", auditChain),
		promise("an audit entry of a transaction that failed leaves no gap", auditNoGap),
		promise("audit entries are read in parts and by subject", auditRanges),
		promise("a draft out of bounds is refused", auditBounds),
	}
}

func draft(subject string, detail map[string]string) audit.Draft {
	return audit.Draft{
		At: noon, Actor: audit.Actor{Kind: audit.ActorOperator, ID: "öp 'x'", Source: "10.0.0.1"},
		Action: "tenant.created", Subject: subject, Detail: detail,
	}
}

func (k *kit) append(ds ...audit.Draft) {
	k.Helper()
	k.mustDo(func(ctx context.Context, r *store.Roles) error {
		for _, d := range ds {
			if err := r.Audit.Append(ctx, d); err != nil {
				return err
			}
		}
		return nil
	})
}

// chain reads the whole log and fails the law unless it verifies.
func (k *kit) chain() []audit.Entry {
	k.Helper()
	var all []audit.Entry
	k.mustSee(func(ctx context.Context, r *store.Roles) error {
		head, err := r.Audit.Head(ctx)
		if err != nil {
			return err
		}
		if all, err = r.Audit.Range(ctx, 0, 9999); err != nil {
			return err
		}
		return audit.Verify(head, all)
	})
	return all
}

func auditWhole(k *kit) {
	if got := k.chain(); len(got) != 0 {
		k.Fatalf("an empty log holds %d entries", len(got))
	}
	drafts := []audit.Draft{
		draft("tenant/acme", map[string]string{"quoted": `it's "?0" \u0000 \` + "\n", "empty": "", "letters": "ü 船 🚢"}),
		draft("tenant/acme", nil), draft("node/n1", map[string]string{}),
	}
	k.append(drafts...)
	var want []audit.Entry
	head := audit.Head{}
	for _, d := range drafts {
		want = append(want, audit.Seal(head, d))
		head = want[len(want)-1].Head()
	}
	got := k.chain()
	same(k, "the log", got, want)
	got[0].Detail["quoted"] = "scribbled"
	same(k, "the log", k.chain(), want)
}

func auditChain(k *kit) {
	k.inTurns(func(worker, round int) error {
		return k.do(func(ctx context.Context, r *store.Roles) error {
			for part := range 2 {
				d := draft("tenant/acme", map[string]string{"worker": fmt.Sprint(worker, "-", round), "part": fmt.Sprint(part)})
				if err := r.Audit.Append(ctx, d); err != nil {
					return err
				}
			}
			return nil
		})
	})
	all := k.chain()
	if len(all) != 2*crowd*rounds {
		k.Fatalf("%d entries, want %d", len(all), 2*crowd*rounds)
	}
	for i := 0; i < len(all); i += 2 {
		if all[i].Detail["worker"] != all[i+1].Detail["worker"] {
			k.Fatalf("the entries of one transaction are torn apart at %d", i)
		}
	}
}

func auditNoGap(k *kit) {
	k.append(draft("tenant/a", nil))
	err := k.do(func(ctx context.Context, r *store.Roles) error {
		return errors.Join(r.Audit.Append(ctx, draft("tenant/b", nil)), errUndo)
	})
	if !errors.Is(err, errUndo) {
		k.Fatalf("got %v", err)
	}
	k.append(draft("tenant/c", nil))
	if all := k.chain(); len(all) != 2 || all[1].Sequence != 2 || all[1].Subject != "tenant/c" {
		k.Fatalf("the log is %+v", all)
	}
}

func auditRanges(k *kit) {
	for i := range 12 {
		k.append(draft(fmt.Sprint("tenant/", []string{"a", "ab", "b"}[i%3]), nil))
	}
	numbers := func(es []audit.Entry, err error) ([]string, error) {
		return keysOf(es, err)(func(e audit.Entry) string { return fmt.Sprint(e.Sequence) })
	}
	for what, read := range map[string]body{
		"5 6 7": func(ctx context.Context, r *store.Roles) error {
			return wants("5 6 7")(numbers(r.Audit.Range(ctx, 4, 3)))
		},
		"12": func(ctx context.Context, r *store.Roles) error {
			return wants("12")(numbers(r.Audit.Range(ctx, 11, 99)))
		},
		"none": func(ctx context.Context, r *store.Roles) error { return wants("")(numbers(r.Audit.Range(ctx, 12, 99))) },
		"1":    func(ctx context.Context, r *store.Roles) error { return wants("1")(numbers(r.Audit.Range(ctx, -3, 0))) },
		"a": func(ctx context.Context, r *store.Roles) error {
			return wants("1 4 7 10")(numbers(r.Audit.About(ctx, "tenant/a", 0, 99)))
		},
		"ab": func(ctx context.Context, r *store.Roles) error {
			return wants("5 8")(numbers(r.Audit.About(ctx, "tenant/ab", 2, 2)))
		},
		"of no": func(ctx context.Context, r *store.Roles) error {
			return wants("")(numbers(r.Audit.About(ctx, "tenant/", 0, 99)))
		},
	} {
		if err := k.see(read); err != nil {
			k.Fatalf("%s: %v", what, err)
		}
	}
}

// wants returns a check of a list against its words.
func wants(words string) func([]string, error) error {
	return func(got []string, err error) error {
		if text := strings.Join(got, " "); err == nil && text != words {
			err = fmt.Errorf("got %q, want %q", text, words)
		}
		return err
	}
}

func auditBounds(k *kit) {
	for slug, d := range map[string]audit.Draft{
		"audit_time_missing":    {Actor: draft("a/b", nil).Actor, Action: "a.b", Subject: "a/b"},
		"audit_detail_invalid":  draft("tenant/a", map[string]string{"nul": "\x00"}),
		"audit_subject_invalid": draft("tenant", nil),
	} {
		err := k.do(func(ctx context.Context, r *store.Roles) error { return r.Audit.Append(ctx, d) })
		k.refused("a draft", err, fault.Invalid, slug)
	}
	if got := k.chain(); len(got) != 0 {
		k.Fatalf("a refused draft was logged")
	}
}
