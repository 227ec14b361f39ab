package placement

// follow lets a process do what its last answer asks of it, one act at a time (P3, P4, P6, P7, P15, P16).
func (n *simNode) follow(p *simProc) {
	view, c := p.view, n.seen(p)
	act := Follow(n.id, view, c)
	switch act {
	case Rest, ReportPrepared:
	case ReportQuiesced:
		content := n.data
		n.report(p, func(r Reporter) error { return n.sim.control.quiesced(view, r, content) })
	case ReportCopied:
		content := n.data
		n.report(p, func(r Reporter) error { return n.sim.control.copied(view, r, content) })
	case ReportDrained:
		n.report(p, func(r Reporter) error { return n.sim.control.drained(view, r) })
	case ReportFailed:
		n.report(p, func(r Reporter) error { return n.sim.control.failed(view, r) })
	case Install:
		n.data = contentOf(view.Migration.ManifestRoot)
		n.change(view, act)
	default:
		n.change(view, act)
	}
}

func (n *simNode) change(view Assignment, act Act) {
	n.copy = view.Done(act, n.copy)
	n.sim.note("%s does %s at version %d", n.id, act, view.Version)
}

// seen is the copy without the guards that a mutant lacks.
func (n *simNode) seen(p *simProc) Copy {
	c := n.copy
	if n.sim.noStamp {
		c.Stamp = p.held.Generation
	}
	if n.sim.anyVersion && p.held.writable() {
		c.FenceVersion = -1
	}
	if n.sim.installOver && p.held.State == Copying {
		c.Stamp, c.FenceVersion = 0, 0
	}
	return c
}

func (n *simNode) report(p *simProc, say func(Reporter) error) {
	r := Reporter{n.id, p.held.Generation}
	n.ask(p, func() func() { _ = say(r); return func() {} })
}
