package trust_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/fault"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

// logged adds n entries, every third about node n1.
func (w *world) logged(n int) {
	w.t.Helper()
	w.do(func(ctx context.Context, r *store.Roles) error {
		for i := range n {
			subject := "node/n2"
			if i%3 == 0 {
				subject = "node/n1"
			}
			d := audit.Draft{At: noon, Actor: alice, Action: "thing.done", Subject: subject, Detail: map[string]string{"n": fmt.Sprint(i)}}
			w.must(r.Audit.Append(ctx, d))
		}
		return nil
	})
}

// The log is read in pages, whole or of one subject, each entry once and in order.
func TestAuditEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.logged(20)
	for subject, want := range map[string]int{"": 20, "node/n1": 7, "node/n2": 13, "node/n9": 0} {
		in := trust.AuditEntriesRequest{Subject: subject, Limit: 3}
		seen, last := 0, int64(0)
		for {
			page, err := w.AuditEntries(w.ctx, in)
			w.must(err)
			for _, e := range page.Entries {
				if e.Sequence <= last || subject != "" && e.Subject != subject {
					t.Fatalf("%q: %+v after %d", subject, e, last)
				}
				seen, last = seen+1, e.Sequence
			}
			if in.After = page.Next; page.Next == 0 {
				break
			}
		}
		if seen != want {
			t.Errorf("%q: %d entries", subject, seen)
		}
	}
	page, err := w.AuditEntries(w.ctx, trust.AuditEntriesRequest{})
	w.must(err)
	if len(page.Entries) != 20 || page.Next != 0 {
		t.Fatalf("%d entries, then %d", len(page.Entries), page.Next)
	}
}

// A whole log is found whole, over as many pages as it has, and an empty one too.
func TestVerifyAuditOfAWholeLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, n := range []int{0, 5, 2*store.MaxPage + 1} {
		w.logged(n)
		head := w.dump().Audit
		got, err := w.VerifyAudit(w.ctx)
		w.must(err)
		if !got.Whole || got.Broken != nil || got.Entries != head.Sequence || got.Head != head {
			t.Fatalf("of %d entries it says %+v", head.Sequence, got)
		}
	}
	w.mem.Inject(storetest.Faults{Begin: storetest.Always(storetest.Unavailable())})
	_, err := w.VerifyAudit(w.ctx)
	w.refused(err, fault.Unavailable, "store_unavailable")
}

// forged is a store whose audit log was tampered with.
type forged struct {
	store.Store
	forge func([]audit.Entry) []audit.Entry
	head  func(audit.Head) audit.Head
	most  int // the longest page that was asked for
	grow  func()
}

func (f *forged) View(ctx context.Context, fn func(context.Context, *store.Roles) error) error {
	err := f.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		c := *r
		c.Audit = forgedAudit{r.Audit, f}
		return fn(ctx, &c)
	})
	if f.grow != nil {
		f.grow()
	}
	return err
}

type forgedAudit struct {
	store.Audit
	f *forged
}

func (a forgedAudit) Head(ctx context.Context) (audit.Head, error) {
	head, err := a.Audit.Head(ctx)
	if a.f.head != nil {
		head = a.f.head(head)
	}
	return head, err
}

func (a forgedAudit) Range(ctx context.Context, after int64, limit int) ([]audit.Entry, error) {
	a.f.most = max(a.f.most, limit)
	entries, err := a.Audit.Range(ctx, 0, 10_000)
	if err != nil || a.f.forge == nil {
		entries, err = a.Audit.Range(ctx, after, limit)
		return entries, err
	}
	var out []audit.Entry
	for _, e := range a.f.forge(entries) {
		if e.Sequence > after && len(out) < limit {
			out = append(out, e)
		}
	}
	return out, nil
}

// Each sort of damage is found where it is, whichever page it lies on; it is a verdict and no error.
func TestVerifyAuditFindsDamage(t *testing.T) {
	t.Parallel()
	const n = store.MaxPage + 50
	for _, c := range []struct {
		damage audit.Damage
		at     int64
		forge  func([]audit.Entry) []audit.Entry
		head   func(audit.Head) audit.Head
	}{
		{audit.DamageAltered, 7, func(es []audit.Entry) []audit.Entry { es[6].Actor.ID = "mallory"; return es }, nil},
		{audit.DamageAltered, n - 1, func(es []audit.Entry) []audit.Entry { es[n-2].Detail = nil; return es }, nil},
		{audit.DamageGap, 9, func(es []audit.Entry) []audit.Entry { return append(es[:8], es[9:]...) }, nil},
		{audit.DamageCut, n - 2, func(es []audit.Entry) []audit.Entry { return es[:n-3] }, nil},
		{audit.DamageCut, 1, func([]audit.Entry) []audit.Entry { return nil }, nil},
		{audit.DamageExtended, n, nil, func(h audit.Head) audit.Head { return audit.Head{Sequence: n - 1, Hash: h.Hash} }},
		{audit.DamageAltered, n, nil, func(audit.Head) audit.Head { return audit.Head{Sequence: n} }},
	} {
		w := newWorld(t)
		w.logged(n)
		w.Store = &forged{Store: w.mem, forge: c.forge, head: c.head}
		got, err := w.VerifyAudit(w.ctx)
		w.must(err)
		if c.damage == audit.DamageExtended {
			c.damage, c.at = audit.DamageAltered, n-1 // the hash is that of the entry behind
		}
		if got.Whole || got.Broken == nil || got.Broken.Damage != c.damage || got.Broken.Sequence != c.at {
			t.Errorf("%s at %d: %+v %+v", c.damage, c.at, got, got.Broken)
		}
	}
}

// An entry behind the head is found, unless it was added after the verifying began. Pages are bounded.
func TestVerifyAuditAndWhatIsBehindTheHead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.logged(5)
	known := w.dump().Audit
	w.logged(1)
	w.Store = &forged{Store: w.mem, head: func(audit.Head) audit.Head { return known }}
	got, err := w.VerifyAudit(w.ctx)
	w.must(err)
	if got.Whole || got.Broken.Damage != audit.DamageExtended || got.Broken.Sequence != 6 || got.Entries != 5 {
		t.Fatalf("it says %+v", got)
	}
	growing := &forged{Store: w.mem}
	growing.grow = func() { w.logged(1) }
	w.Store = growing
	got, err = w.VerifyAudit(w.ctx)
	w.must(err)
	if !got.Whole || got.Entries != 6 || growing.most > store.MaxPage {
		t.Fatalf("it says %+v, in pages of %d", got, growing.most)
	}
}

// The defaults pass, and each setting that is out of bounds or does not fit is refused.
func TestSettings(t *testing.T) {
	t.Parallel()
	if err := trust.DefaultSettings(domain).Check(); err != nil {
		t.Fatal(err)
	}
	for slug, changes := range map[string][]func(*trust.Settings){
		"spiffe_id_malformed": {func(s *trust.Settings) { s.TrustDomain = "" }},
		"key_windows_invalid": {
			func(s *trust.Settings) { s.Windows.VerifyAfter = 10 * time.Minute }, // a token's life, and no skew
			func(s *trust.Settings) { s.Windows.SignFor = 0 },
		},
		"invalid_setting": {
			func(s *trust.Settings) { s.Skew = -1 },
			func(s *trust.Settings) { s.Skew = time.Hour },
			func(s *trust.Settings) { s.CertificateLife = 399 * day },
			func(s *trust.Settings) { s.TokenLife = 0 },
			func(s *trust.Settings) { s.TokenLife = s.MaxTokenLife + 1 },
			func(s *trust.Settings) { s.MaxTokenLife = 0 },
			func(s *trust.Settings) { s.NonceBatch = 0 },
		},
	} {
		for i, change := range changes {
			s := trust.DefaultSettings(domain)
			change(&s)
			if fault.SlugOf(s.Check()) != slug {
				t.Errorf("%s, case %d: %v", slug, i, s.Check())
			}
		}
	}
}
