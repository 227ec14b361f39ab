// Package docs renders the pages under docs/ that repeat what the code says: the state machines and the access table.
// A test compares them with what is committed, so that they can not drift.
package docs

import (
	"fmt"
	"strings"

	"berth/domain/authorization"
	"berth/domain/delivery"
	"berth/domain/entitlement"
	"berth/domain/identity"
	"berth/domain/leadership"
	"berth/domain/placement"
)

// edge is a line of any state machine.
type edge struct{ From, Event, To string }

type machine struct {
	title, about, start string
	edges               []edge
}

func edges[E placement.Edge | identity.Edge | authorization.Edge | delivery.Edge | entitlement.Edge | leadership.Edge](in []E) []edge {
	var out []edge
	for _, e := range in {
		out = append(out, edge(e))
	}
	return out
}

func machines() []machine {
	return []machine{
		{"Placement", "Where a tenant lives (P1). There is no other path. A recover enters at copying (P11).", "active", edges(placement.Diagram())},
		{"Migration", "The record around a move (P1): it begins before the placement quiesces, and a recover begins at copying.", "preparing", edges(placement.MigrationDiagram())},
		{"Node", "What operators decided of a node. Whether it is offline is its lease's matter (P9).", "joining", edges(placement.NodeDiagram())},
		{"Tenant", "Whether a tenant's devices are admitted (A1).", "active", edges(authorization.Diagram())},
		{"Node credential", "A certificate of a node (I5).", "prepared", edges(identity.CredentialDiagram())},
		{"Signing key", "A token-signing key (I6).", "pending", edges(identity.SigningKeyDiagram())},
		{"Purge", "Deleting a tenant's data everywhere, with proof (P14).", "scheduled", edges(placement.PurgeDiagram())},
		{"License", "Whether a customer's license is in force, whatever its expiry (E1).", "active", edges(entitlement.Diagram())},
		{"Intent", "Something that a customer asked for (E4). It ends by what the agent reports, or by what takes its place.", "accepted", edges(delivery.IntentDiagram())},
		{"Leadership", "Which replica runs what one is enough for. A claim of what is held is another replica's, which counted it out (P9).", "vacant", edges(leadership.Diagram())},
	}
}

const generated = "<!-- Rendered from the code by `make generate`; a test compares. -->\n\n"

// StateDiagrams is docs/state-diagrams.md.
func StateDiagrams() string {
	var b strings.Builder
	b.WriteString("# State machines\n\n" + generated)
	for _, m := range machines() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n```mermaid\nstateDiagram-v2\n  [*] --> %s\n", m.title, m.about, m.start)
		for _, e := range m.edges {
			fmt.Fprintf(&b, "  %s --> %s: %s\n", e.From, e.To, e.Event)
		}
		b.WriteString("```\n\n| from | event | to |\n|---|---|---|\n")
		for _, e := range m.edges {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", e.From, e.Event, e.To)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// AccessTable is docs/access-table.md.
func AccessTable() string {
	var b strings.Builder
	b.WriteString("# Who may do what on the internal API (I8)\n\n" + generated +
		"A row is an operation, a column the phase of the tenant or of the migration that is reported on. What is empty is\n" +
		"denied, with the answer that a tenant which does not exist gets. Before the switch the source holds the placement,\n" +
		"after it the target.\n\n| operation |")
	rows := authorization.AccessTable()
	for _, c := range rows[0].Cells {
		fmt.Fprintf(&b, " %s |", c.Phase)
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(rows[0].Cells)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |", row.Operation)
		for _, c := range row.Cells {
			b.WriteString(" " + cell(c.Roles) + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func cell(roles []placement.Role) string {
	const everyRole = 4
	if len(roles) == everyRole {
		return "any node"
	}
	var names []string
	for _, r := range roles {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}
