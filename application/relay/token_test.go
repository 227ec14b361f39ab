package relay_test

import (
	"bytes"
	"crypto/sha256"
	"testing"
	"time"

	"berth/application/relay"
	"berth/domain/authorization"
)

// by has the phone go by a token of a key, as the node verifies it.
func (p *phone) by(r *rig, kid string) *phone {
	r.t.Helper()
	r.within(10*time.Second, "the key is known", func() bool {
		d, err := r.node.Authenticate(kid + "/t0/" + p.Principal)
		p.device = d
		return err == nil
	})
	return p
}

// What began by a token ends with the key that signed it, as soon as the node hears that the key was compromised (I6): sessions and
// transfers. Who has another token by then goes on, and who comes back does so at a time of its own.
func TestCompromisedKeyEndsWhatItBegan(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		first := r.control.RotateKey()
		r.up()
		stolen, renewed, other := r.pair(authorization.Member), r.pair(authorization.Member), r.pair(authorization.Owner)
		r.within(10*time.Second, "the devices are let in", func() bool { return other.enter(r.t.Context(), r.node) == nil })
		for _, p := range []*phone{stolen, renewed} {
			if err := p.by(r, first.KID).enter(r.t.Context(), r.node); err != nil {
				t.Fatal(err)
			}
		}
		files, err := r.node.Files(r.t.Context(), stolen.device)
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		second := r.control.RotateKey()
		pass(time.Second) // a token by another key than the last one's is verified by an answer of its own
		if _, err := renewed.session.Renew(second.KID + "/t0/" + renewed.Principal); err != nil {
			t.Fatal(err)
		}
		r.control.CompromiseKey(first.KID)
		r.within(22*time.Second, "the session ends", func() bool { return stolen.end() != "" })
		if stolen.end() != "expired" || stolen.retry() <= 0 {
			t.Errorf("it ended as %s, to come back after %v", stolen.end(), stolen.retry())
		}
		if _, err := files.Stat(r.t.Context(), sha256.Sum256(nil)); slugOf(err) != "device_token_key_retired" {
			t.Errorf("attachments are still to be had: %v", err)
		}
		if err := stolen.enter(r.t.Context(), r.node); slugOf(err) != "device_token_key_retired" {
			t.Errorf("a token that was verified before lets in: %v", err)
		}
		pass(5 * time.Second)
		if renewed.end() != "" || other.end() != "" {
			t.Errorf("others ended: %q, %q", renewed.end(), other.end())
		}
	})
}

// A transfer goes no further than the token that it began by, however slowly it goes.
func TestTransfersEndWithTheirToken(t *testing.T) {
	t.Parallel()
	bubble(t, func(r *rig) {
		r.up()
		p := r.connected(authorization.Owner)
		p.device.ExpiresAt = time.Now().Add(10 * time.Second)
		files, err := r.node.Files(r.t.Context(), p.device)
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		content := bytes.Repeat([]byte("x"), 1000)
		digest := sha256.Sum256(content)
		whole := relay.Upload{Digest: digest, Length: 1000, Size: 1000}
		if _, err := files.Upload(r.t.Context(), whole, bytes.NewReader(content)); err != nil {
			t.Fatal(err)
		}
		in, err := files.Content(r.t.Context(), digest)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		some := make([]byte, 10)
		if _, err := in.Read(some); err != nil {
			t.Fatal(err)
		}
		whole.Digest = sha256.Sum256(some)
		_, err = files.Upload(r.t.Context(), whole, slowly(func(b []byte) (int, error) {
			pass(6 * time.Second)
			return copy(b, "x"), nil
		}))
		if slugOf(err) != "device_token_expired" {
			t.Errorf("an upload goes on: %v", err)
		}
		if _, err := in.Read(some); slugOf(err) != "device_token_expired" {
			t.Errorf("a download goes on: %v", err)
		}
	})
}

type slowly func([]byte) (int, error)

func (s slowly) Read(b []byte) (int, error) { return s(b) }
