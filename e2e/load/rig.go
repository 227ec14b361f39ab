package load

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/e2e/harness"
)

// Rig is the control plane under measure: one berthd, or several on one Postgres database, with a region eu.
type Rig struct {
	*harness.Server
	TB       testing.TB
	Database *Database // nil on SQLite
	Replicas []*Replica
}

// Region is the region of a rig.
const Region = "eu"

// Each runs a benchmark on every store there is.
func Each(b *testing.B, run func(*testing.B, *Rig)) {
	b.Helper()
	b.Run("sqlite", func(b *testing.B) { run(b, OnSQLite(b)) })
	b.Run("postgres", func(b *testing.B) { run(b, OnPostgres(b, NewDatabase(b), 1)) })
}

// OnSQLite starts a berthd on SQLite.
func OnSQLite(tb testing.TB) *Rig {
	tb.Helper()
	r := &Rig{Server: harness.Start(tb, quiet, "BERTH_PUBLIC_URL="+publicURL), TB: tb}
	r.Replicas = []*Replica{first(tb, r.Server)}
	r.region()
	return r
}

// OnPostgres starts one berthd or two on a database. What is set further is given as in an environment.
func OnPostgres(tb testing.TB, d *Database, replicas int, extra ...string) *Rig {
	tb.Helper()
	dsn := d.DSN()
	extra = append([]string{"BERTH_DATABASE_URL=" + dsn, quiet, "BERTH_PUBLIC_URL=" + publicURL}, extra...)
	r := &Rig{Server: harness.Start(tb, extra...), TB: tb, Database: d}
	r.Replicas = []*Replica{first(tb, r.Server)}
	if replicas > 1 {
		r.Replicas = append(r.Replicas, second(tb, r.Server, dsn))
	}
	r.region()
	return r
}

// quiet sweeps as often as in production: the harness sweeps more often than that, for the sake of tests.
const quiet = "BERTH_SWEEP_INTERVAL=1s"

// publicURL is where devices reach the API, as their assertions have to name it.
const publicURL = "https://api.berth.test"

func (r *Rig) region() {
	r.TB.Helper()
	r.Operator("POST", "/api/v1/regions", contract.NewRegion{ID: Region, Origin: "https://eu.relay.test"}, 201, nil)
}

// Ask builds an operator's request.
func (r *Rig) Ask(method, path string, body any) []byte {
	r.TB.Helper()
	data, err := json.Marshal(body)
	r.must(err)
	if body == nil {
		data = nil
	}
	return Request(method, path, "api.berth.test", data, "Authorization", "Bearer "+r.Token)
}

func (r *Rig) must(err error) {
	r.TB.Helper()
	if err != nil {
		r.TB.Fatal(err)
	}
}

// Dial connects to an address for as long as the measuring lasts.
func (r *Rig) Dial(address string) *Conn {
	r.TB.Helper()
	c, err := Dial(address)
	r.must(err)
	r.TB.Cleanup(func() { _ = c.Close() })
	return c
}

// Internal connects to a replica's internal listener.
func (r *Rig) Internal(replica int) *Conn {
	r.TB.Helper()
	return r.Dial("unix:" + r.Replicas[replica].Socket)
}

// API connects to a replica's API listener.
func (r *Rig) API(replica int) *Conn { r.TB.Helper(); return r.Dial(r.Replicas[replica].API) }

// Nodes makes nodes that beat, with room for so many tenants each.
func (r *Rig) Nodes(count int, room int64) []*Node {
	r.TB.Helper()
	out := make([]*Node, count)
	for i := range out {
		made := r.NewNode(fmt.Sprintf("n%04d", i), Region, room)
		n, err := NewNode(made.ID, Region, made.Fingerprint, made.Generation, r.Secret)
		r.must(err)
		n.Sequence = made.Sequence
		out[i] = n
	}
	return out
}

// Tenants makes tenants, some at a time, and returns what a node that holds them knows.
func (r *Rig) Tenants(count int) []contract.Known {
	r.TB.Helper()
	const together = 8
	out := make([]contract.Known, count)
	var all sync.WaitGroup
	for w := range together {
		c := r.API(0)
		all.Go(func() {
			for i := w; i < count; i += together {
				id := fmt.Sprintf("t%07d", i)
				if _, err := c.Must(r.Ask("POST", "/api/v1/tenants", contract.NewTenant{ID: id, HomeRegion: Region}), 201); err != nil {
					r.TB.Error(err)
					return
				}
				out[i] = contract.Known{Tenant: id, Generation: 1, Revision: 1}
			}
		})
	}
	all.Wait()
	if r.TB.Failed() {
		r.TB.FailNow()
	}
	return out
}

// Beating keeps the nodes' leases alive until the measuring ends, as slowly as that can be done.
func (r *Rig) Beating(nodes ...*Node) {
	r.TB.Helper()
	const every = 5 * time.Second
	stop, ended := make(chan struct{}), make(chan struct{})
	c := r.Internal(0)
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			for _, n := range nodes {
				if err := beat(c, n); err != nil {
					r.TB.Error(err)
					return
				}
			}
		}
	}()
	r.TB.Cleanup(func() { close(stop); <-ended })
}

func beat(c *Conn, n *Node) error {
	request, err := n.Beat()
	if err == nil {
		_, err = c.Must(request, 200)
	}
	return err
}

// Decode reads an answer.
func Decode[T any](r Reply) (out T, err error) {
	err = json.Unmarshal(r.Body, &out)
	return out, err
}

// holds says whether an answer has a text in it.
func (r Reply) holds(text string) bool { return strings.Contains(string(r.Body), text) }

// Away stops the rig's only berthd while something is done to its database, and starts it again.
func (r *Rig) Away(do func()) {
	r.TB.Helper()
	r.Stop()
	do()
	r.Run()
	r.Replicas = []*Replica{first(r.TB, r.Server)}
}
