package ingress_test

import (
	"crypto/tls"
	"syscall"
	"testing"

	"berth/adapters/contract"
	"berth/domain/identity"
)

// What an ingress asserted once counts once: not again at the replica that took it, nor at the other, nor after a restart
// of either (I4). A certificate that is revoked at one replica is refused at the next request to any.
func replay(t *testing.T, d *deployment) {
	m, revoke := d.spare(t)
	host := func(i int) func(*identity.Payload) {
		return func(p *identity.Payload) { p.Host = d.host(i) }
	}
	path := "/internal/v1/nodes/" + m.ID + "/register"
	last := len(d.internal) - 1
	// An assertion names its host: it is sent to the other replica under the name of the first.
	send := func(at int, body []byte, header string, made int) reply {
		return callerOf(t, d.internal[at], tls.Certificate{}).
			sendAs(d.host(made), "POST", path, body, contract.HeaderAssertion, header)
	}
	one, headerOfOne := d.registers(t, m, "boot-1", host(0))
	send(0, one, headerOfOne, 0).is(t, "an assertion", 200, "")
	send(0, one, headerOfOne, 0).is(t, "again, at the same replica", 401, "assertion_replayed")
	other, headerOfOther := d.registers(t, m, "boot-2", host(last))
	send(last, other, headerOfOther, last).is(t, "an assertion, at the other replica", 200, "")
	send(0, other, headerOfOther, last).is(t, "again, at the first", 401, "assertion_replayed")
	send(last, one, headerOfOne, 0).is(t, "the first one, at the other replica", 401, "assertion_replayed")
	d.berthd[last].signal(syscall.SIGKILL)
	d.berthd[last].revive()
	within(t, "the replica is back", d.berthd[last], func() bool { return send(last, nil, "", 0).err == nil })
	send(last, other, headerOfOther, last).is(t, "after a restart", 401, "assertion_replayed")

	ask := d.through(t, d.site.Ingress, m)
	ask().is(t, "a node, through the ingress", 200, "")
	revoke()
	for range 4 { // the ingress goes to either replica
		ask().is(t, "once its certificate is revoked", 401, "credential_revoked")
	}
}

// bent is an assertion that is wrong in one way; all but the first are refused.
func bent(t *testing.T, d *deployment) {
	m, _ := d.spare(t)
	c := callerOf(t, d.internal[0], tls.Certificate{})
	path := "/internal/v1/nodes/" + m.ID + "/assignments"
	for _, x := range []struct {
		what   string
		status int
		slug   string
		bend   func(*identity.Payload)
	}{
		{"as it should be", 200, "", func(*identity.Payload) {}},
		{"another method", 403, "assertion_method_mismatch", func(p *identity.Payload) { p.Method = "POST" }},
		{"another target", 403, "assertion_target_mismatch", func(p *identity.Payload) { p.Target += "?a=b" }},
		{"another host", 403, "assertion_host_mismatch", func(p *identity.Payload) { p.Host = "other.test" }},
		{"another body", 403, "assertion_body_mismatch", func(p *identity.Payload) { p.BodySHA256[0]++ }},
		{"another node's fingerprint", 403, "credential_of_another_node", func(p *identity.Payload) { p.Fingerprint = fingerprint(d.site.First) }},
		{"an unknown fingerprint", 401, "credential_unknown", func(p *identity.Payload) { p.Fingerprint = "00" + p.Fingerprint[2:] }},
	} {
		header, err := d.forgeAs(m, func(p *identity.Payload) {
			p.Target, p.Host = path, d.host(0)
			x.bend(p)
		})
		must(t, err)
		c.sendAs(d.host(0), "GET", path, nil, contract.HeaderAssertion, header).is(t, x.what, x.status, x.slug)
	}
}

func (d *deployment) host(i int) string {
	if e := d.internal[i]; e.Network != "unix" {
		return e.Address
	}
	return "berth.internal"
}
