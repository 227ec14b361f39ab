package ociregistry

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/e2e/lab"
	"berth/ports/clock/clocktest"
	"berth/ports/registry"
)

func slugOf(err error) string {
	if err == nil {
		return ""
	}
	return fault.SlugOf(err)
}

// What was found is remembered for a minute, counted from when it was asked and not from when it was last wanted; what a
// caller does with the answer changes nothing.
func TestWhatWasFoundIsRememberedForAMinute(t *testing.T) {
	t.Parallel()
	s := serve(t, inProcess())
	digest := pusher(t, s.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	b := newBench(t)
	resolve := func(reference string) registry.Image {
		t.Helper()
		image, err := b.client.Resolve(t.Context(), []delivery.Registry{s.registry()}, reference)
		if err != nil {
			t.Fatal(err)
		}
		return image
	}
	resolve(s.Host + "/shop:1.0").Platforms[0] = "changed"
	asked := s.asked.Load()
	for range 2 {
		b.clock.Advance(rememberFor/2 - 1)
		if image := resolve(s.Host + "/shop:1.0"); image.Platforms[0] != "linux/amd64" || s.asked.Load() != asked {
			t.Fatalf("%+v, asked %d times more", image, s.asked.Load()-asked)
		}
	}
	b.clock.Advance(2)
	if resolve(s.Host + "/shop:1.0"); s.asked.Load() == asked {
		t.Error("after a minute it is not asked anew")
	}
	resolve(s.Host + "/shop@" + digest)
	asked = s.asked.Load()
	if image := resolve(s.Host + "/shop:other@" + digest); image.Reference != s.Host+"/shop:other@"+digest || s.asked.Load() != asked {
		t.Errorf("by the same digest: %+v, asked %d times more", image, s.asked.Load()-asked)
	}
	other := s.registry()
	other.CredentialsRef = "file:" + filepath.Join(t.TempDir(), "none")
	b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", other)
}

// The memory is bounded: it forgets the oldest, and has no more keys than entries.
func TestTheMemoryIsBounded(t *testing.T) {
	t.Parallel()
	clock := clocktest.New(time.Unix(1_800_000_000, 0))
	m := newMemory(clock)
	at := func(i int) key { return key{ref: delivery.ImageReference{Tag: fmt.Sprint(i)}} }
	for i := range 2 * rememberMost {
		m.put(at(i), registry.Image{})
		m.put(at(i), registry.Image{})
	}
	if _, old := m.get(at(0)); old || len(m.entries) != rememberMost || len(m.order) != rememberMost {
		t.Errorf("%d entries, %d keys, the oldest is there: %v", len(m.entries), len(m.order), old)
	}
	if _, ok := m.get(at(2*rememberMost - 1)); !ok {
		t.Error("the newest is gone")
	}
	clock.Advance(rememberFor)
	if _, ok := m.get(at(2*rememberMost - 1)); ok {
		t.Error("it is remembered for longer than a minute")
	}
	if m.put(at(0), registry.Image{}); len(m.entries) != 1 {
		t.Errorf("%d entries are kept that count no more", len(m.entries)-1)
	}
}

// So many lookups run at once and no more, fewer at each host; one host that never answers leaves room for others.
func TestLookupsAreBounded(t *testing.T) {
	t.Parallel()
	var now, most atomic.Int64
	standing := serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		<-r.Context().Done()
		now.Add(-1)
	}))
	healthy := serve(t, inProcess())
	pusher(t, healthy.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for i := range 3 * atOnce {
		waiting.Go(func() {
			_, err := b.client.Resolve(ctx, []delivery.Registry{standing.registry()}, fmt.Sprintf("%s/shop:%d", standing.Host, i))
			if slugOf(err) != "image_check_unavailable" {
				t.Errorf("%v", err)
			}
		})
	}
	for standing.asked.Load() < perHost {
		<-time.After(time.Millisecond)
	}
	if _, err := b.client.Resolve(t.Context(), []delivery.Registry{healthy.registry()}, healthy.Host+"/shop:1.0"); err != nil {
		t.Errorf("beside one that stands still: %v", err)
	}
	if n := most.Load(); n != perHost {
		t.Errorf("%d at once", n)
	}
	cancel()
	waiting.Wait()
	if len(b.client.turns.hosts) != 0 || len(b.client.turns.all) != 0 {
		t.Errorf("%d lanes and %d turns are left", len(b.client.turns.hosts), len(b.client.turns.all))
	}
}

// All hosts together have so many turns.
func TestTurnsAreBoundedOverAllHosts(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	var leave []func()
	for i := range atOnce {
		l, err := turns.enter(t.Context(), fmt.Sprint(i))
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, l)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := turns.enter(ctx, "another"); err == nil {
		t.Fatal("there is one turn more")
	}
	leave[0]()
	l, err := turns.enter(t.Context(), "another")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range append(leave[1:], l) {
		l()
	}
	if len(turns.hosts) != 0 || len(turns.all) != 0 {
		t.Errorf("%d lanes and %d turns are left", len(turns.hosts), len(turns.all))
	}
}

// Credentials are read anew each time, from a file that is its owner's alone; what is wrong with them is told to nobody who
// may not know where they are.
func TestCredentials(t *testing.T) {
	t.Parallel()
	works := inProcess()
	direct := serve(t, works)
	pusher(t, direct.Host).Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	s := serve(t, basic("berth", "a word", works))
	path := login(t, "berth", "another")
	r := s.registry()
	r.CredentialsRef = "file:" + path
	b := newBench(t)
	b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", s.registry())
	b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", r)
	bad := func(name, ref string) {
		asked := s.asked.Load()
		with := r
		with.CredentialsRef = ref
		f := b.refuses(s.Host+"/shop:1.0", "image_check_unavailable", with)
		if s.asked.Load() != asked || strings.Contains(f.Detail+f.Cure, "file") || strings.Contains(f.Error(), "a word") {
			t.Errorf("%s: asked %d times; %v", name, s.asked.Load()-asked, f)
		}
	}
	write := func(text string, mode os.FileMode) string {
		p := filepath.Join(t.TempDir(), "login")
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return "file:" + p
	}
	good := `{"username": "berth", "password": "a word"}`
	bad("everybody's", write(good, 0o644))
	bad("the group's", write(good, 0o640))
	bad("none", "file:"+path+".none")
	bad("a folder", "file:"+t.TempDir())
	bad("no JSON", write("berth:a word", 0o600))
	bad("without a name", write(`{"password": "a word"}`, 0o600))
	bad("too large", write(good+strings.Repeat(" ", maxCredentials), 0o600))
	bad("of the environment", "env:HOME")
	if err := os.WriteFile(path, []byte(good), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.Resolve(t.Context(), []delivery.Registry{r}, s.Host+"/shop:1.0"); err != nil {
		t.Errorf("once they are right: %v", err)
	}
}

// A CA that is none, or another's, lets nobody in.
func TestOnlyTheCAOfARegistryIsTrusted(t *testing.T) {
	t.Parallel()
	one, two := lab.OCIRegistry(t, lab.RegistryOptions{TLS: true}), lab.OCIRegistry(t, lab.RegistryOptions{TLS: true})
	for _, r := range []*lab.Registry{one, two} {
		r.Push().Image("shop", "1.0", lab.Scratch(t, "linux/amd64", "shop"))
	}
	b := newBench(t)
	for _, ca := range []string{"", "no PEM", two.CA} {
		b.refuses(one.Host+"/shop:1.0", "image_check_unavailable", delivery.Registry{Host: one.Host, CA: ca})
	}
	both := []delivery.Registry{{Host: one.Host, CA: one.CA}, {Host: two.Host, CA: two.CA}}
	for _, r := range both {
		if _, err := b.client.Resolve(t.Context(), both, r.Host+"/shop:1.0"); err != nil {
			t.Error(err)
		}
	}
}

// However many CAs come and go, so many sets of connections are kept.
func TestTransportsAreBounded(t *testing.T) {
	t.Parallel()
	r := lab.OCIRegistry(t, lab.RegistryOptions{TLS: true})
	ts := newTransports()
	for i := range 3 * kept {
		if _, err := ts.of(delivery.Registry{CA: r.CA + strings.Repeat("\n", i)}); err != nil || len(ts.byCA) > kept {
			t.Fatalf("%d transports, %v", len(ts.byCA), err)
		}
	}
	if ts.close(); len(ts.byCA) != 0 {
		t.Error("some are left")
	}
}

// BenchmarkCached is what an intent for an app of twenty images asks, all of them found within the minute.
func BenchmarkCached(b *testing.B) {
	s := serve(b, inProcess())
	p := pusher(b, s.Host)
	bench := newBench(b)
	registries := []delivery.Registry{s.registry()}
	var references []string
	for i := range 20 {
		references = append(references, fmt.Sprintf("%s/team/shop-%d:1.0", s.Host, i))
		p.Image(fmt.Sprintf("team/shop-%d", i), "1.0", lab.Scratch(b, "linux/amd64", "shop"))
	}
	all := func() {
		for _, reference := range references {
			if _, err := bench.client.Resolve(b.Context(), registries, reference); err != nil {
				b.Fatal(err)
			}
		}
	}
	all()
	b.ReportAllocs()
	for b.Loop() {
		all()
	}
}

// BenchmarkFresh is the same where nothing is remembered, one after the other.
func BenchmarkFresh(b *testing.B) {
	s := serve(b, inProcess())
	pusher(b, s.Host).Image("team/shop", "1.0", lab.Scratch(b, "linux/amd64", "shop"))
	bench := newBench(b)
	for b.Loop() {
		if _, err := bench.client.Resolve(b.Context(), []delivery.Registry{s.registry()}, s.Host+"/team/shop:1.0"); err != nil {
			b.Fatal(err)
		}
		bench.forget()
	}
}
