package ingressd

import (
	"context"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"berth/adapters/contract"
)

// The bundle comes from the control plane, is kept in its file, and follows; what is no bundle, of another trust domain, or
// does not come at all changes nothing, and is told once for as long as it lasts.
func TestBundleFollowsTheControlPlane(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	stop := p.serve()
	k := p.open()
	if k.roots() != 0 {
		t.Fatal("somebody is believed before anybody said so")
	}
	k.ask(t.Context())
	one, two := p.authority("one"), p.authority("two")
	if text, err := os.ReadFile(p.path("bundle.pem")); err != nil || string(text) != pemOf(t, one) || k.roots() != 1 {
		t.Fatalf("%d roots, kept %q %v", k.roots(), text, err)
	}
	p.tell(one, two)
	k.ask(t.Context())
	if k.roots() != 2 {
		t.Fatalf("%d roots", k.roots())
	}
	for name, bad := range map[string]struct {
		status int
		bundle contract.TrustBundle
	}{
		"failure": {http.StatusInternalServerError, contract.TrustBundle{}},
		"empty":   {http.StatusOK, contract.TrustBundle{TrustDomain: "berth.example"}},
		"garbage": {http.StatusOK, contract.TrustBundle{TrustDomain: "berth.example", PEM: "garbage"}},
		"foreign": {http.StatusOK, contract.TrustBundle{TrustDomain: "other.example", PEM: pemOf(t, one)}},
	} {
		p.set(bad.status, bad.bundle)
		before := k.log.count("can not be renewed")
		k.ask(t.Context())
		k.ask(t.Context())
		if n := k.log.count("can not be renewed"); k.roots() != 2 || n != before+1 {
			t.Errorf("%s: %d roots, told %d times", name, k.roots(), n-before)
		}
	}
	stop()
	k.ask(t.Context())
	if text, _ := os.ReadFile(p.path("bundle.pem")); k.roots() != 2 || string(text) != pemOf(t, one)+pemOf(t, two) {
		t.Errorf("%d roots, kept %q", k.roots(), text)
	}
	p.serve()
	p.tell(two)
	k.ask(t.Context())
	if k.roots() != 1 || k.log.count("can be renewed again") != 1 {
		t.Errorf("a root that was taken out is still believed: %d", k.roots())
	}
	if k = p.open(); k.roots() != 1 { // as after a restart
		t.Errorf("%d roots from the file", k.roots())
	}
}

// A bundle file that somebody garbled, emptied or took away is what the control plane says again by the next answer: a
// start without the control plane, or any at all, would fail by it.
func TestBundleFileIsMended(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve()
	k := p.open()
	k.ask(t.Context())
	for what, harm := range map[string]func(string) error{
		"garbled": func(path string) error { return os.WriteFile(path, []byte("garbage"), 0o644) },
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
	} {
		must(t, harm(p.path("bundle.pem")))
		k.refresh()
		k.ask(t.Context())
		if text, err := os.ReadFile(p.path("bundle.pem")); err != nil || string(text) != pemOf(t, p.authority("one")) {
			t.Errorf("%s: %q %v", what, text, err)
		}
	}
}

// A bundle file that can not be written keeps nobody from being believed.
func TestBundleFileIsReadOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve()
	p.env["TRUST_BUNDLE_FILE"] = p.path("nowhere/bundle.pem")
	k := p.open()
	k.ask(t.Context())
	k.ask(t.Context())
	if k.roots() != 1 || k.log.count("can not be written") != 1 {
		t.Errorf("%d roots, told %d times", k.roots(), k.log.count("can not be written"))
	}
}

// Whoever has the files read anew has the control plane asked at once, too, however seldom it is asked: a root that is known
// to others is then gone in a moment.
func TestAsksAtOnceWhereItIsToldTo(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve()
	p.env["TRUST_BUNDLE_REFRESH"] = "1h"
	one, two := p.authority("one"), p.authority("two")
	p.tell(one, two)
	k := p.open()
	k.ask(t.Context())
	p.tell(two)
	ctx, stop := context.WithCancel(t.Context())
	reload := make(chan struct{})
	process := &Process{config: k.config, ground: Ground{Clock: k.keeper.clock, Log: k.keeper.log}, follower: k.follower, keeper: k.keeper}
	var all sync.WaitGroup
	all.Go(func() { process.follow(ctx, reload) })
	all.Go(func() { k.keep(ctx) })
	reload <- struct{}{}
	look, late := time.NewTicker(time.Millisecond), time.Now().Add(10*time.Second)
	defer look.Stop()
	for k.roots() != 1 && time.Now().Before(late) {
		<-look.C
	}
	if k.roots() != 1 {
		t.Error("the root that was taken out is still believed")
	}
	stop()
	all.Wait()
}

// A root that the control plane took out does not come back from a file that could not be written.
func TestFileDoesNotBringBack(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.serve()
	one, two := p.authority("one"), p.authority("two")
	must(t, os.Mkdir(p.path("kept"), 0o700))
	p.env["TRUST_BUNDLE_FILE"] = p.path("kept/bundle.pem")
	must(t, os.WriteFile(p.path("kept/bundle.pem"), []byte(pemOf(t, one)+pemOf(t, two)), 0o600))
	k := p.open()
	p.tell(two)
	k.ask(t.Context())
	must(t, os.WriteFile(p.path("kept/bundle.pem"), []byte(pemOf(t, one)+pemOf(t, two)), 0o600)) // as if it had not been
	k.reload()
	if k.roots() != 1 {
		t.Errorf("%d roots", k.roots())
	}
}

// Files that changed are taken up, and one that can not be used changes nothing and is told once.
func TestFilesAreFollowed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	must(t, os.WriteFile(p.path("bundle.pem"), []byte(pemOf(t, p.authority("one"))), 0o644))
	k := p.open()
	if k.roots() != 1 {
		t.Fatalf("%d roots", k.roots())
	}
	p.secrets("s2")
	k.refresh()
	if id := k.files.secrets.Current().Sealing().ID; id != "s2" {
		t.Errorf("sealing with %s", id)
	}
	both := pemOf(t, p.authority("one")) + pemOf(t, p.authority("two"))
	for _, c := range []struct {
		text  string
		roots int
		told  int
	}{{both, 2, 0}, {"garbage", 2, 1}, {"", 2, 2}, {pemOf(t, p.authority("two")), 1, 2}} {
		must(t, os.WriteFile(p.path("bundle.pem"), []byte(c.text), 0o644))
		k.refresh()
		k.refresh()
		if k.roots() != c.roots || k.log.count("stays in use") != c.told {
			t.Errorf("after %.20q: %d roots, told %d times", c.text, k.roots(), k.log.count("stays in use"))
		}
	}
	before := k.files.certificate.Current()
	must(t, os.Chmod(p.env["KEY_FILE"], 0o644))
	k.reload()
	if k.files.certificate.Current() != before {
		t.Error("a key that others may read was taken up")
	}
	must(t, os.Chmod(p.env["KEY_FILE"], 0o600))
	k.refresh()
	if k.files.certificate.Current() == before {
		t.Error("the pair was not read anew")
	}
}
