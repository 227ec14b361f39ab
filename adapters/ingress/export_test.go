package ingress

import (
	"net"

	"berth/domain/identity"
)

// Plain serves connections that are a node's already, as if their handshake were through, until the listener is closed.
func (g *Ingress) Plain(l net.Listener, id identity.SPIFFEID, fingerprint string) error {
	return g.server().Serve(&trusting{l, g, id, fingerprint})
}

type trusting struct {
	net.Listener
	g           *Ingress
	id          identity.SPIFFEID
	fingerprint string
}

func (t *trusting) Accept() (net.Conn, error) {
	c, err := t.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l, err := t.g.crowd.admit(c)
	if err != nil {
		return nil, err
	}
	l.peer = &peer{id: t.id, fingerprint: t.fingerprint}
	l.peer.standing.Store(&standing{version: t.g.o.Trust.now.Load().version, ends: t.g.o.Clock.Now().AddDate(1, 0, 0)})
	return l, t.g.crowd.settle(l)
}

// Claims is the judgement of header names.
func Claims(name string) bool { return claims(name) }

// ValidHost is the judgement of Host headers.
func ValidHost(host string) bool { return validHost(host) }
