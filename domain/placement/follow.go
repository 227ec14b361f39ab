package placement

// Act is the one thing that a node does next about a tenant: a change of its copy, or a report once what it reports is
// durable. A node that was killed in between asks what is true and comes to the same act again (R5).
type Act uint8

// The acts.
const (
	Rest           Act = iota
	MakeEmpty          // an empty copy of generation 1 (P16)
	Adopt              // give the installed copy the present generation as its stamp (P16)
	Unfence            // lift the fence (P6)
	Fence              // refuse and drain every write (P3)
	Install            // verify and install what the manifest names, fenced (P4)
	Seal               // fence the copy that was moved away (P7)
	ReportPrepared     // P1
	ReportQuiesced     // P3
	ReportCopied       // P4
	ReportDrained      // P7
	ReportFailed       // there is no copy to go on with
)

var actNames = [...]string{ //nolint:gochecknoglobals // an immutable table
	"rest", "make empty", "adopt", "unfence", "fence", "install", "seal",
	"prepared", "quiesced", "copied", "drained", "failed",
}

// String returns the act's name; that of a report is the name of its step.
func (a Act) String() string {
	if int(a) < len(actNames) {
		return actNames[a]
	}
	return "rest"
}

// Held is the placement as the assignment tells it to the given node: of no lease, so that it permits no writing.
func (a Assignment) Held(self string) Held {
	h := Held{Generation: a.Generation, Version: a.Version, State: a.State}
	switch {
	case a.Role == RoleOwner, a.Role == RoleSource && a.State != Draining, a.Role == RoleTarget && a.State == Draining:
		h.Node = self
	case a.Migration != nil:
		h.Node = a.Migration.Peer
	}
	return h
}

// Follow is what a node does next that was told a and has c on its disk (P3, P4, P6, P7, P15, P16). It is asked again
// after each act, with what is then on the disk.
func Follow(self string, a Assignment, c Copy) Act {
	h := a.Held(self)
	switch {
	case a.Role == RoleStranger:
		return Rest
	case h.Node == self && !c.Present && a.Generation == 1 && (h.writable() || a.State == Quiescing):
		return MakeEmpty
	case h.Node == self && h.writable():
		return a.serve(self, h, c)
	case a.Role == RoleSource && a.State == Quiescing:
		return h.quiesce(c)
	case a.Role == RoleSource && a.State == Draining:
		return h.drain(c)
	case a.Role == RoleTarget && a.State == Active && a.Migration != nil:
		return ReportPrepared
	case a.Role == RoleTarget && a.State == Copying && a.Migration != nil:
		return h.install(c, a.Migration.ID)
	}
	return Rest
}

func (a Assignment) serve(self string, h Held, c Copy) Act {
	switch {
	case c.Adopts(self, h):
		return Adopt
	case c.Fenced && c.Unfences(self, h):
		return Unfence
	case a.Role != RoleSource || a.Migration == nil:
		return Rest
	case !c.Present || c.Stamp != h.Generation:
		return ReportFailed
	}
	return ReportPrepared
}

// quiesce fences for each migration anew: the version tells them apart.
func (h Held) quiesce(c Copy) Act {
	switch {
	case !c.Present || c.Stamp != h.Generation:
		return ReportFailed
	case !c.Fenced || c.FenceVersion < h.Version:
		return Fence
	case c.FenceVersion == h.Version:
		return ReportQuiesced
	}
	return Rest
}

func (h Held) drain(c Copy) Act {
	if c.Present && c.Stamp < h.Generation && !c.Fenced {
		return Seal
	}
	return ReportDrained
}

func (h Held) install(c Copy, migration string) Act {
	switch {
	case !c.Installs(h):
		return Rest
	case !c.Present || c.Migration != migration:
		return Install
	}
	return ReportCopied
}

// WithoutMoving is the act in the place of one that leads to a migration of data, on a node which can not copy any: of a
// copy whose last committed sequence is the one given. A copy that is empty moves by its manifest alone.
func (a Assignment) WithoutMoving(act Act, sequence int64) Act {
	if a.Role == RoleSource && sequence > 0 && (act == ReportPrepared || act == Fence || act == ReportQuiesced) {
		return ReportFailed
	}
	return act
}

// Done is the copy after an act of this assignment; one that only reports leaves it as it is.
func (a Assignment) Done(act Act, c Copy) Copy {
	switch act { //nolint:exhaustive // the others change nothing
	case MakeEmpty:
		return Copy{Present: true, Stamp: 1}
	case Adopt:
		c.Stamp, c.Migration = a.Generation, ""
	case Unfence:
		c.Fenced = false
	case Fence, Seal:
		c.Fenced, c.FenceVersion = true, max(c.FenceVersion, a.Version)
	case Install:
		return Copy{Present: true, Stamp: a.Generation, Fenced: true, FenceVersion: a.Version, Migration: a.Migration.ID}
	}
	return c
}
