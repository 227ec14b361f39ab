package placement

// follow lets a process do what its last snapshot asks of it (P3, P4, P6, P7, P15, P16).
func (n *simNode) follow(p *simProc) {
	switch h := p.held; {
	case h.State == Quiescing && h.Node == n.id:
		n.quiesce(p)
	case h.State == Copying && p.view.Role == RoleTarget:
		n.install(p)
	case h.State == Draining && p.view.Role == RoleSource:
		n.drain(p)
	case n.copy.Adopts(n.id, h):
		n.copy.Stamp, n.copy.Migration = h.Generation, ""
	case n.lifts(p):
		n.copy.Fenced = false
		n.sim.note("%s lifts its fence at version %d", n.id, h.Version)
	}
}

// quiesce fences, each migration anew, and reports what is behind the fence.
func (n *simNode) quiesce(p *simProc) {
	if !n.copy.Present || n.copy.Stamp != p.held.Generation && !n.sim.noStamp {
		return
	}
	if !n.copy.Fenced || n.copy.FenceVersion < p.held.Version {
		n.copy.Fenced, n.copy.FenceVersion = true, p.held.Version
		n.sim.note("%s fences at version %d", n.id, p.held.Version)
		return
	}
	if n.copy.FenceVersion == p.held.Version {
		content, view := n.data, p.view
		n.report(p, func(r Reporter) error { return n.sim.control.quiesced(view, r, content) })
	}
}

// install puts the manifest's content in place of whatever copy there is, fenced and with the stamp of the generation
// that is about to end.
func (n *simNode) install(p *simProc) {
	h, m := p.held, p.view.Migration
	if !n.copy.Installs(h) && !n.sim.installOver {
		return
	}
	if n.copy.Migration != m.ID || !n.copy.Present {
		n.copy = Copy{Present: true, Stamp: h.Generation, Fenced: true, FenceVersion: h.Version, Migration: m.ID}
		n.data = contentOf(m.ManifestRoot)
		n.sim.note("%s installs %s of %s", n.id, m.ManifestRoot[:16], m.ID)
		return
	}
	content, view := n.data, p.view
	n.report(p, func(r Reporter) error { return n.sim.control.copied(view, r, content) })
}

func (n *simNode) drain(p *simProc) {
	if n.copy.Present && n.copy.Stamp < p.held.Generation && !n.copy.Fenced {
		n.copy.Fenced, n.copy.FenceVersion = true, p.held.Version
		return
	}
	view := p.view
	n.report(p, func(r Reporter) error { return n.sim.control.drained(view, r) })
}

func (n *simNode) lifts(p *simProc) bool {
	c := n.copy
	if n.sim.anyVersion {
		c.FenceVersion = -1
	}
	if n.sim.noStamp {
		c.Stamp = p.held.Generation
	}
	return c.Fenced && c.Unfences(n.id, p.held)
}

func (n *simNode) report(p *simProc, say func(Reporter) error) {
	r := Reporter{n.id, p.held.Generation}
	n.ask(p, func() func() { _ = say(r); return func() {} })
}
