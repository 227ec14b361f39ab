package relay

// OpenOnceMore has a tenant's Engine opened by somebody who has just seen that it was not open, and says what comes of it.
func (n *Node) OpenOnceMore(tenant string) error {
	o := n.rooms.of(tenant).join()
	<-o.done
	return o.err
}

// OpenLate has a tenant's Engine opened by somebody who was permitted to before.
func (n *Node) OpenLate(tenant string) error {
	_, err := n.rooms.of(tenant).start(n.rooms.ctx)
	return err
}

// CloseLate is what closes the Engine that is open now, when that comes late.
func (n *Node) CloseLate(tenant string) (late func()) {
	m := n.rooms.of(tenant)
	h := m.hub.Load()
	return func() { m.shut(h, errStopping()) }
}
