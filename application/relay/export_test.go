package relay

// OpenOnceMore has a tenant's Engine opened by somebody who has just seen that it was not open, and says what comes of it.
func (n *Node) OpenOnceMore(tenant string) error {
	o := n.rooms.of(tenant).join()
	<-o.done
	return o.err
}
