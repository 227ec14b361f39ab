package scale

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"berth/e2e/load"
)

const (
	flat      = 0.20 // by which the cost may differ between the sizes
	freshness = 0.4  // cores, of berthd and Postgres
)

// write prints the table, and of what is not flat the statements that Postgres was busy with.
func write(out io.Writer, taken []operation, few, many *site) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { _, _ = fmt.Fprintln(w, strings.Join(cells, "\t")+"\t") } // Flush tells
	a, b := count(few.plan.Tenants), count(many.plan.Tenants)
	row("tenants", a, b, a, b, a, b, "", "")
	row("operation", "p50 ms", "p50 ms", "CPU µs", "CPU µs", "statements", "statements", "CPU ratio", fmt.Sprintf("flat ±%.0f %%", flat*100))
	var steep []string
	for _, o := range taken {
		ratio, verdict := many.cost(o.name)/few.cost(o.name), "yes"
		if ratio > 1+flat {
			verdict = "NO"
			steep = append(steep, o.name)
		}
		x, y := few.by[o.name], many.by[o.name]
		row(o.name, fmt.Sprintf("%.2f", x.P(50)), fmt.Sprintf("%.2f", y.P(50)),
			fmt.Sprintf("%.0f", few.cost(o.name)), fmt.Sprintf("%.0f", many.cost(o.name)),
			fmt.Sprintf("%.1f", x.Each(float64(x.Queries))), fmt.Sprintf("%.1f", y.Each(float64(y.Queries))),
			fmt.Sprintf("%.2f", ratio), verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, s := range []*site{few, many} {
		for _, line := range s.told {
			_, _ = fmt.Fprintf(out, "%s tenants: %s\n", count(s.plan.Tenants), line)
		}
	}
	for _, name := range steep {
		_, _ = fmt.Fprintf(out, "\nNOT FLAT: %s\n", name)
		for _, s := range []*site{few, many} {
			_, _ = fmt.Fprintf(out, "%s tenants: calls, ms in all, statement\n%s\n", count(s.plan.Tenants), s.by[name].statements)
		}
	}
	return nil
}

// count writes a number as people read it.
func count(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// cores says what the polls of all nodes took.
func cores(r load.Result) string {
	part := func(d float64) float64 { return d / r.Elapsed.Seconds() }
	all := part(r.Server.Seconds() + r.Database.Seconds())
	verdict := "reached"
	if all > freshness {
		verdict = "NOT REACHED"
	}
	return fmt.Sprintf("freshness at 5 s: %.0f polls/s take %.2f cores of berthd and %.2f of Postgres, %.2f in all (at most %.1f: %s); p50 %.2f ms, p99 %.2f ms",
		r.Rate(), part(r.Server.Seconds()), part(r.Database.Seconds()), all, freshness, verdict, r.P(50), r.P(99))
}
