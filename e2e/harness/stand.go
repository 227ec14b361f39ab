package harness

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
	"berth/e2e/lab"
)

// Stand is a vendor's half: berthd on either database, and a registry that its images are in. Scenarios share one, each
// with a customer and apps of its own.
type Stand struct {
	Servers  []*Server // all on one database
	Postgres *lab.PostgresServer
	Registry *lab.Registry

	tb      testing.TB
	clients *clients
}

// clients are those of the replicas by where they listen, for all who use a stand: one for each request would leave a
// connection behind each time that something is waited for.
type clients struct {
	mu sync.Mutex
	at map[string]*apiclient.Client
}

func newClients(tb testing.TB) *clients {
	c := &clients{at: map[string]*apiclient.Client{}}
	tb.Cleanup(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, one := range c.at {
			one.Close()
		}
	})
	return c
}

func (c *clients) of(base string) (*apiclient.Client, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.at[base]; ok {
		return known, nil
	}
	made, err := apiclient.New(apiclient.Options{Base: base, Timeout: slowest})
	if err == nil {
		c.at[base] = made
	}
	return made, err
}

// slowest is what an answer may take on a machine that has a lot to do.
const slowest = time.Minute

// NewStand starts one process on SQLite, or two on Postgres, and a registry that is registered; the test's end stops them.
func NewStand(tb testing.TB, postgres bool, settings ...string) *Stand {
	tb.Helper()
	s := &Stand{tb: tb, Registry: lab.OCIRegistry(tb, lab.RegistryOptions{}), clients: newClients(tb)}
	if postgres {
		s.Postgres = lab.Shared(tb)
		s.Servers = Processes(tb, 2, s.Postgres.DSN(), settings...)
	} else {
		s.Servers = []*Server{Start(tb, settings...)}
	}
	s.Register(s.Registry.Host)
	return s
}

// StandOn is a stand of servers that run already, on one database, without a registry.
func StandOn(tb testing.TB, servers ...*Server) *Stand {
	return &Stand{tb: tb, Servers: servers, clients: newClients(tb)}
}

// In is the stand as another test uses it, at the same time as others or after them. Such a test does not stop servers:
// where they listen then nobody else would know.
func (s *Stand) In(tb testing.TB) *Stand {
	other := *s
	other.tb, other.Servers = tb, nil
	for _, r := range s.Servers {
		same := *r
		same.t = tb
		other.Servers = append(other.Servers, &same)
	}
	return &other
}

// Client is one of a replica's API listener. It shares its connections with the others of that listener.
func (s *Stand) Client(replica int, proof apiclient.Proof) *apiclient.Client {
	s.tb.Helper()
	c, err := s.clients.of(s.at(replica).API)
	must(s.tb, err)
	return c.With(proof)
}

// at is a replica, counted around: there is one on SQLite.
func (s *Stand) at(replica int) *Server { return s.Servers[replica%len(s.Servers)] }

// Operator is an admin at the first replica.
func (s *Stand) Operator() apiclient.Operator {
	s.tb.Helper()
	return apiclient.NewOperator(s.Client(0, apiclient.Bearer(s.Servers[0].Token)))
}

// Register makes a host without TLS one that images may come from.
func (s *Stand) Register(host string) {
	s.tb.Helper()
	_, err := s.Operator().AddRegistry(s.tb.Context(), contract.NewRegistry{Host: host, PlainHTTP: true})
	must(s.tb, err)
}

// Push makes an image for a platform under a repository and tag, and returns its digest.
func (s *Stand) Push(repository, tag, platform, words string) string {
	s.tb.Helper()
	return lab.PushTo(s.tb, s.Registry.Host).Image(repository, tag, lab.Scratch(s.tb, platform, words))
}

// Run starts every replica again, on the database that it is told of.
func (s *Stand) Run() {
	s.tb.Helper()
	for _, r := range s.Servers {
		r.Run()
	}
}

// Stop stops every replica as an operator would.
func (s *Stand) Stop() {
	s.tb.Helper()
	for _, r := range s.Servers {
		r.Stop()
	}
}

// Output is what the replicas printed since each began.
func (s *Stand) Output() string {
	var all strings.Builder
	for _, r := range s.Servers {
		all.WriteString(r.Output())
	}
	return all.String()
}

// database is the file of an SQLite database.
func (s *Stand) database() string { return filepath.Join(s.Servers[0].Dir, "control.db") }
