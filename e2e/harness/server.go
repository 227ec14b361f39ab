package harness

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to hold a lock as another process would

	"berth/domain/identity"
)

// Server is a running berthd: a process on SQLite, or a replica in a container.
type Server struct {
	t         testing.TB
	Dir       string
	API       string // base URL of the API listener
	Metrics   string // base URL of the metrics listener
	Enrolment string // base URL of the enrolment listener of a process
	Socket    string // the internal listener of a process
	Database  string // what a process is told of its database
	Token     string // an admin's
	Secret    identity.IngressSecret
	Extra     []string // further environment
	specs     *specs
	client    *http.Client // of the API and of metrics
	ingress   *http.Client // of the internal listener
	inside    string       // base URL of that listener, as the ingress names it
	process   process
	down      bool // as the test wants it
}

// process is where a berthd runs.
type process interface {
	start() // and learns where it listens
	signal(sig syscall.Signal)
	wait(bound time.Duration) (ended bool, err error) // the error is of a process that did not end well
	output() string
}

// Start makes a directory with a fresh database and starts berthd in it; the test's end stops it.
func Start(t testing.TB, extra ...string) *Server {
	t.Helper()
	s := processes(t, 1, "", extra)[0]
	s.Run()
	t.Cleanup(s.Stop)
	s.Token = s.firstAdmin()
	return s
}

// Processes starts n replicas of berthd as processes of this machine on one Postgres database, which they share with
// their directory; the test's end stops them.
func Processes(t testing.TB, n int, dsn string, extra ...string) []*Server {
	t.Helper()
	all := processes(t, n, dsn, extra)
	for _, s := range all {
		s.Run()
		t.Cleanup(s.Stop)
	}
	token := all[0].firstAdmin()
	for _, s := range all {
		s.Token = token
	}
	return all
}

// processes are berthds that do not run yet, all in one directory; with an SQLite database in it where no DSN is given.
func processes(t testing.TB, n int, dsn string, extra []string) (all []*Server) {
	t.Helper()
	// A Unix socket's path has about 100 bytes, so the directory is a short one.
	dir, err := os.MkdirTemp("", "berth-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dsn == "" {
		dsn = "sqlite:" + filepath.Join(dir, "control.db")
	}
	secret := identity.IngressSecret{ID: "s1", Key: random(32)}
	for i := range n {
		s := &Server{
			t: t, Dir: dir, Socket: filepath.Join(dir, fmt.Sprintf("internal-%d.sock", i)), Extra: slices.Clone(extra), specs: &specs{},
			client: http.DefaultClient, inside: "http://" + InternalHost, Secret: secret, Database: dsn,
		}
		s.process = &child{s: s}
		s.ingress = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
			MaxIdleConnsPerHost: 64,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
			},
		}}
		all = append(all, s)
	}
	all[0].WriteSecrets(secret)
	all[0].write("bootstrap", Bootstrap)
	return all
}

func (s *Server) firstAdmin() string {
	s.t.Helper()
	var made struct{ Token string }
	s.Call(Bootstrap, "POST", "/api/v1/tokens", map[string]any{"name": "test", "role": "admin"}, 201, &made)
	return made.Token
}

// WriteSecrets writes the file of ingress secrets.
func (s *Server) WriteSecrets(secrets ...identity.IngressSecret) { s.RetireSecrets(nil, secrets...) }

// RetireSecrets writes that file and names in it the ids of secrets that were taken out of use.
func (s *Server) RetireSecrets(retired []string, secrets ...identity.IngressSecret) {
	type entry struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	var list []entry
	for _, x := range secrets {
		list = append(list, entry{x.ID, base64.StdEncoding.EncodeToString(x.Key)})
	}
	data, err := json.Marshal(map[string]any{"secrets": list, "retired": retired})
	must(s.t, err)
	s.write("ingress.json", string(data))
}

func (s *Server) write(name, text string) {
	s.t.Helper()
	must(s.t, os.WriteFile(filepath.Join(s.Dir, name), []byte(text), 0o600))
}

// generous are settings for tests: one address plays every device and node here, and a test waits for sweeps.
func generous() []string {
	return []string{
		"BERTH_SOURCE_RATE=100000", "BERTH_SOURCE_BURST=100000", "BERTH_DEVICE_RATE=10000", "BERTH_DEVICE_BURST=10000",
		"BERTH_ENROLL_RATE=10000", "BERTH_ENROLL_BURST=10000",
		"BERTH_NODE_RATE=100000", "BERTH_NODE_BURST=100000", "BERTH_SWEEP_INTERVAL=200ms", "BERTH_TRUST_DOMAIN=berth.test",
	}
}

// Run starts berthd and waits until it is ready.
func (s *Server) Run() {
	s.t.Helper()
	s.process.start()
	s.down = false
	s.Eventually("berthd is ready", s.Ready)
}

// Ready says whether berthd says of itself that it is.
func (s *Server) Ready() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.Ask(ctx, "", "GET", "/readyz", nil).Status == http.StatusOK
}

// Refuses starts a berthd that is expected to end by itself, not well, and returns what it said.
func (s *Server) Refuses() string {
	s.t.Helper()
	s.process.start()
	ended, err := s.process.wait(stopBound)
	s.down = ended
	if !ended || err == nil {
		s.t.Fatalf("berthd was to refuse to start; ended %t with %v; it said:\n%s", ended, err, s.Output())
	}
	return s.Output()
}

// Kill ends berthd as a power cut would.
func (s *Server) Kill() {
	s.t.Helper()
	s.process.signal(syscall.SIGKILL)
	if ended, _ := s.process.wait(stopBound); !ended {
		s.t.Fatal("berthd lives on after SIGKILL")
	}
	s.down = true
}

const stopBound = 30 * time.Second

// Stop ends berthd as an operator would, unless it was stopped or killed before, and checks that it ended well.
func (s *Server) Stop() {
	s.t.Helper()
	if s.down {
		return
	}
	s.down = true
	if ended, err := s.process.wait(0); ended {
		s.t.Errorf("berthd ended by itself: %v; it said:\n%s", err, s.Output())
		return
	}
	s.process.signal(syscall.SIGTERM)
	switch ended, err := s.process.wait(stopBound); {
	case !ended:
		s.process.signal(syscall.SIGKILL)
		s.t.Errorf("berthd did not stop within %s; it said:\n%s", stopBound, s.Output())
	case err != nil:
		s.t.Errorf("berthd ended with %v; it said:\n%s", err, s.Output())
	}
}

// Pause stops berthd in the middle of whatever it does, its connections open.
func (s *Server) Pause() { s.t.Helper(); s.process.signal(syscall.SIGSTOP) }

// Unpause lets it go on as if no time had passed.
func (s *Server) Unpause() { s.t.Helper(); s.process.signal(syscall.SIGCONT) }

// Reload tells berthd to read its files again.
func (s *Server) Reload() { s.t.Helper(); s.process.signal(syscall.SIGHUP) }

// Output is what berthd printed so far.
func (s *Server) Output() string { return s.process.output() }

// patience is how long something is waited for that is a matter of a second, unless the machine has a lot to do.
const patience = time.Minute

// Eventually waits for something that another process does by itself; it fails the test after a minute.
func (s *Server) Eventually(what string, ok func() bool) {
	s.t.Helper()
	s.Within(patience, what, ok)
}

// Within is Eventually with another bound.
func (s *Server) Within(bound time.Duration, what string, ok func() bool) {
	s.t.Helper()
	tick, look := time.NewTicker(10*time.Millisecond), time.NewTicker(time.Second)
	defer tick.Stop()
	defer look.Stop()
	deadline := time.After(bound)
	for !ok() {
		select {
		case <-tick.C:
		case <-look.C:
			if ended, err := s.process.wait(0); ended {
				s.t.Fatalf("waiting until %s: berthd ended: %v; it said:\n%s", what, err, s.Output())
			}
		case <-deadline:
			s.t.Fatalf("after %s it is not so that %s; berthd said:\n%s", bound, what, s.Output())
		}
	}
}

// Bootstrap is the bootstrap token of every server here. It has the form of an operator token; it is worth nothing outside a test's own process.
const Bootstrap = "bt_bootstrap_abcdefghijklmnopqrstuvwxyz"

func random(n int) []byte {
	b := make([]byte, n)
	_, err := rand.Read(b)
	if err != nil {
		panic(errors.Join(errors.New("no randomness"), err))
	}
	return b
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// LockDatabase takes the database's write lock as a hung process would; the function returned gives it back.
func (s *Server) LockDatabase() (unlock func()) {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Dir, "control.db"))
	must(s.t, err)
	conn, err := db.Conn(context.Background())
	must(s.t, err)
	_, err = conn.ExecContext(context.Background(), "BEGIN EXCLUSIVE")
	must(s.t, err)
	return func() {
		s.t.Helper()
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		must(s.t, errors.Join(err, conn.Close(), db.Close()))
	}
}
