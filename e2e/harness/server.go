package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to hold a lock as another process would

	"berth/domain/identity"
)

// Server is a running berthd on SQLite.
type Server struct {
	t        testing.TB
	Dir      string
	API      string // base URL of the API listener
	Metrics  string // base URL of the metrics listener
	Socket   string // the internal listener
	Token    string // an admin's
	Secret   identity.IngressSecret
	Extra    []string // further environment
	specs    *specs
	internal *http.Client
	cmd      *exec.Cmd
	out      *output
	exited   chan error
}

// Start makes a directory with a fresh database and starts berthd in it; the test's end stops it.
func Start(t testing.TB, extra ...string) *Server {
	t.Helper()
	// A Unix socket's path has about 100 bytes, so the directory is a short one.
	dir, err := os.MkdirTemp("", "berth-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &Server{t: t, Dir: dir, Socket: filepath.Join(dir, "internal.sock"), Extra: extra, specs: &specs{}}
	s.Secret = identity.IngressSecret{ID: "s1", Key: random(32)}
	s.WriteSecrets(s.Secret)
	s.write("bootstrap", Bootstrap)
	s.internal = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", s.Socket)
		},
	}}
	s.Run()
	t.Cleanup(s.Stop)
	var made struct{ Token string }
	s.Call(Bootstrap, "POST", "/api/v1/tokens", map[string]any{"name": "test", "role": "admin"}, 201, &made)
	s.Token = made.Token
	return s
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

// Run starts the process and waits until it is ready.
func (s *Server) Run() {
	s.t.Helper()
	api, metrics := freeAddress(s.t), freeAddress(s.t)
	s.API, s.Metrics = "http://"+api, "http://"+metrics
	s.out = &output{}
	s.cmd = exec.Command(Binary(s.t), "serve", "--migrate")
	s.cmd.Env = append(os.Environ(),
		"BERTH_DATABASE_URL=sqlite:"+filepath.Join(s.Dir, "control.db"),
		"BERTH_LISTEN="+api, "BERTH_METRICS_LISTEN="+metrics, "BERTH_INTERNAL_LISTEN=unix:"+s.Socket,
		"BERTH_KMS_URL=file:"+filepath.Join(s.Dir, "keys"), "BERTH_TRUST_DOMAIN=berth.test",
		"BERTH_BOOTSTRAP_TOKEN_FILE="+filepath.Join(s.Dir, "bootstrap"),
		"BERTH_INGRESS_SECRETS_FILE="+filepath.Join(s.Dir, "ingress.json"))
	// One process and address plays every device and node here, and a test waits for sweeps.
	s.cmd.Env = append(s.cmd.Env, "BERTH_SOURCE_RATE=100000", "BERTH_SOURCE_BURST=100000", "BERTH_DEVICE_RATE=10000", "BERTH_DEVICE_BURST=10000", "BERTH_NODE_RATE=100000",
		"BERTH_NODE_BURST=100000", "BERTH_SWEEP_INTERVAL=200ms")
	s.cmd.Env = append(s.cmd.Env, s.Extra...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	must(s.t, s.cmd.Start())
	s.exited = make(chan error, 1)
	go func(cmd *exec.Cmd, exited chan<- error) { exited <- cmd.Wait() }(s.cmd, s.exited)
	s.Eventually("berthd is ready", func() bool { return s.ready() })
}

func (s *Server) ready() bool {
	resp, err := http.Get(s.API + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Kill ends the process as a power cut would.
func (s *Server) Kill() {
	s.t.Helper()
	must(s.t, s.cmd.Process.Kill())
	<-s.exited
	s.cmd = nil
}

// Stop ends the process as an operator would, and checks that it ended well.
func (s *Server) Stop() {
	if s.cmd == nil {
		return
	}
	s.t.Helper()
	must(s.t, s.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case err := <-s.exited:
		if err != nil {
			s.t.Errorf("berthd ended with %v; it said:\n%s", err, s.out)
		}
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		s.t.Errorf("berthd did not stop within 30 s; it said:\n%s", s.out)
	}
	s.cmd = nil
}

// Output is what the process printed so far.
func (s *Server) Output() string { return s.out.String() }

// PID is the process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Eventually waits for something that another process does by itself; it fails the test after 30 s.
func (s *Server) Eventually(what string, ok func() bool) {
	s.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case err := <-s.exited:
			s.t.Fatalf("waiting until %s: berthd ended: %v; it said:\n%s", what, err, s.out)
		case <-deadline:
			s.t.Fatalf("after 30 s it is not so that %s; berthd said:\n%s", what, s.out)
		}
	}
}

type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// Bootstrap is the bootstrap token of every server here. It has the form of an operator token; it is worth nothing outside a test's own process.
const Bootstrap = "bt_bootstrap_abcdefghijklmnopqrstuvwxyz"

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

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

// Reload tells the process to read its files again.
func (s *Server) Reload() {
	s.t.Helper()
	must(s.t, s.cmd.Process.Signal(syscall.SIGHUP))
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
