package nodes_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"berth/domain/identity"
	"berth/e2e/harness"
)

// A node enrols by its token, has one certificate of its own name and nobody else can read its key; it serves its tenant;
// the token is spent for everybody else.
func enrolsAndServes(t *testing.T, w *world) {
	r, _ := w.serving("a")
	c, err := identity.ReadNodeCertificate(r.Certificate().Raw)
	must(t, err)
	if want := "spiffe://berth.test/relay/" + w.region + "/" + r.ID; c.SPIFFEID.String() != want {
		t.Errorf("its certificate is of %s, want %s", c.SPIFFEID, want)
	}
	list := w.Credentials(r.ID)
	if got := list[harness.Fingerprint(r.Certificate())]; len(list) != 1 || got.State != "current" {
		t.Errorf("the control plane knows %+v", list)
	}
	must(t, filepath.WalkDir(r.Dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && path != r.Path("join-token") {
			private(t, path)
		}
		return err
	}))
	twin := r.Twin()
	twin.Start()
	says(twin, "join_token_used")
	if twin.Certificate() != nil || !twin.Lives() {
		t.Error("a token that was used gave a second process a certificate, or ended it")
	}
}

// Of two processes that use one join token at the same instant one is the node, and the other is told.
func twoProcessesOneToken(t *testing.T, w *world) {
	one := w.relay("a")
	other := one.Twin()
	// Both requests are held until the other is there, so that they arrive as one.
	arrived := make(chan struct{}, 2)
	meet := make(chan struct{})
	off := w.Enroll.On(harness.Holding(one.JoinToken()), func(forward func() int) bool {
		arrived <- struct{}{}
		<-meet
		return forward() != 0
	})
	one.Start()
	other.Start()
	<-arrived
	<-arrived
	off()
	close(meet)
	within(t, patience, "one of both has a certificate", func() bool {
		return (one.Certificate() != nil) != (other.Certificate() != nil)
	})
	winner, loser := one, other
	if other.Certificate() != nil {
		winner, loser = other, one
	}
	says(loser, "join_token_used")
	winner.Beats(0)
	if loser.Certificate() != nil || len(w.Credentials(one.ID)) != 1 {
		t.Errorf("both have a certificate: %+v", w.Credentials(one.ID))
	}
}

// A node that is killed at any step of its enrolment enrols with the same token when it is started again.
func killedWhileEnrolling(t *testing.T, w *world) {
	r := w.relay("a")
	for _, c := range []struct {
		what    string
		arrives bool
	}{{"before its request arrives", false}, {"before the answer arrives", true}, {"once more so", true}} {
		held, dead := make(chan struct{}), make(chan struct{})
		off := w.Enroll.On(harness.Holding(r.JoinToken()), func(forward func() int) bool {
			if c.arrives && forward() != 200 {
				t.Errorf("killed %s: the request is refused", c.what)
			}
			held <- struct{}{}
			<-dead
			return false
		})
		r.Start()
		<-held
		off()
		r.Kill()
		close(dead)
		if r.Certificate() != nil {
			t.Fatalf("killed %s: it has a certificate", c.what)
		}
	}
	for _, file := range []string{"node.db", "identity", "identity/*", "identity/current.pem"} {
		r.Start()
		r.Within(patience, "there is "+file, func() bool {
			found, err := filepath.Glob(r.Path(filepath.Join("data", file)))
			return err == nil && len(found) > 0
		})
		r.Kill()
	}
	r.Serves()
	current := 0
	for fingerprint, c := range w.Credentials(r.ID) {
		if c.State == "current" {
			current++
			if fingerprint != harness.Fingerprint(r.Certificate()) {
				t.Errorf("%s is current, and the node uses another one", fingerprint)
			}
		}
	}
	if current != 1 || strings.Contains(r.Output(), "join_token_used") {
		t.Errorf("%d certificates are current, and it said:\n%s", current, r.Output())
	}
}
