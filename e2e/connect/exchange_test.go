package connect_test

import (
	"bytes"
	"crypto/rand"
	"testing"

	"berth/adapters/connectclient"
	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/e2e/harness"
	"berth/e2e/lab"
)

// A desktop and a phone of one tenant, each at another node in another network, of which one has the tenant and passes on
// what comes by the other: messages go both ways, an attachment is uploaded at one and downloaded at the other, and the
// phone that the desktop revokes is out.
func TestTwoNetworks(t *testing.T) {
	t.Parallel()
	w := open(t, harness.NewSite(t), "networks")
	ingress := w.BoxedIngress()
	peers, near, far := lab.NewNetwork(t), lab.NewNetwork(t), lab.NewNetwork(t)
	for _, network := range []string{near, far} {
		ingress.Join(t, network)
		w.Replicas[0].Container().Join(t, network)
	}
	one, _ := w.BoxedRelay("networks-a", w.region, ingress, near, peers)
	other, _ := w.BoxedRelay("networks-b", w.region, ingress, far, peers)
	one.Serves()
	other.Serves()
	tenant, _, _ := w.tenant("t")
	desktop, phone := w.NewPhone(tenant, "owner", "desktop"), w.NewPhone(tenant, "member", "phone")
	w.exchange(desktop, phone, desktop.Through(one), phone.Through(other))
}

// exchange has a desktop, which is an owner, and a phone say something to one another, and the phone revoked.
func (w *world) exchange(desktop, phone *harness.Phone, here, there connectclient.Options) {
	w.t.Helper()
	d, p := desktop.Dial(here), phone.Dial(there)
	atDesktop, atPhone := w.subscribe(d, desktop, 0), w.subscribe(p, phone, 0)
	w.publish(d, desktop, "from-desktop")
	w.publish(p, phone, "from-phone")
	for who, box := range map[string]*inbox{"desktop": atDesktop, "phone": atPhone} {
		got := w.holds(box, 2)
		if got[0].ID != "from-desktop" || got[0].From != desktop.Principal || string(got[0].Body) != `{"text":"from-desktop"}` || got[0].Seq != 1 ||
			got[1].ID != "from-phone" || got[1].From != phone.Principal || got[1].Seq != 2 || got[1].At == nil {
			w.t.Errorf("the %s has %+v", who, got)
		}
	}
	w.attachment(here, there)
	revision, err := d.Revoke(w.t.Context(), phone.Principal)
	if err != nil || revision != w.Tenant(desktop.Tenant).Authorization.Revision {
		w.t.Errorf("revoke: revision %d, %v", revision, err)
	}
	within(w.t, patience, "the phone is out", func() bool {
		select {
		case <-p.Done():
			return true
		default:
			return false
		}
	})
	if kind := fault.KindOf(p.Err()); reason(p.Err()) != contract.GoawayRevoked && kind != fault.Forbidden && kind != fault.Unauthenticated {
		w.t.Errorf("the phone is told %v", p.Err())
	}
	w.publish(d, desktop, "after")
}

// attachment goes up at one place and down at the other.
func (w *world) attachment(here, there connectclient.Options) {
	w.t.Helper()
	content := make([]byte, 3<<20)
	_, _ = rand.Read(content)
	up, down := connectclient.NewFiles(here), connectclient.NewFiles(there)
	defer up.Close()
	defer down.Close()
	digest, err := up.Attach(w.t.Context(), bytes.NewReader(content))
	must(w.t, err)
	var got bytes.Buffer
	if _, err := down.Fetch(w.t.Context(), digest, &got); err != nil || !bytes.Equal(got.Bytes(), content) {
		w.t.Errorf("%d of %d bytes came: %v", got.Len(), len(content), err)
	}
}

// Two nodes on one network, the tenant at one of them, and each device at the other in turn.
func exchanged(t *testing.T, w *world) {
	nodes := w.nodes(2)
	tenant, holder, others := w.tenant("t", nodes...)
	desktop, phone := w.NewPhone(tenant, "owner", "desktop"), w.NewPhone(tenant, "member", "phone")
	w.exchange(desktop, phone, desktop.Through(others[0]), phone.Through(holder))
}
