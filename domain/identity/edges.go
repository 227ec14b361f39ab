package identity

// Edge is one arrow of a state diagram, as the documents draw it.
type Edge struct{ From, Event, To string }

type edge[S, E ~string] struct {
	from  S
	event E
	to    S
}

// step returns where an event leads from a state; false where the table has no such arrow.
func step[S, E ~string](table []edge[S, E], from S, event E) (S, bool) {
	for _, e := range table {
		if e.from == from && e.event == event {
			return e.to, true
		}
	}
	return from, false
}

func diagram[S, E ~string](table []edge[S, E]) []Edge {
	out := make([]Edge, 0, len(table))
	for _, e := range table {
		out = append(out, Edge{From: string(e.from), Event: string(e.event), To: string(e.to)})
	}
	return out
}
