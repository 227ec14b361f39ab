package load

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"berth/e2e/harness"
)

// Replica is a running berthd as those who measure it see it.
type Replica struct {
	API     string // base URL of the API listener
	Metrics string // base URL of the metrics listener
	Socket  string // of the internal listener

	tb  testing.TB
	pid func() int
}

// first is the berthd that the harness runs. What it is asked for may change when it is started again.
func first(tb testing.TB, s *harness.Server) *Replica {
	return &Replica{API: s.API, Metrics: s.Metrics, Socket: s.Socket, tb: tb, pid: s.PID}
}

// second starts another berthd on the same Postgres database, with the same keys and secrets.
func second(tb testing.TB, s *harness.Server, dsn string) *Replica {
	tb.Helper()
	api, metrics := freeAddresses(tb)
	r := &Replica{API: "http://" + api, Metrics: "http://" + metrics, Socket: filepath.Join(s.Dir, "second.sock"), tb: tb}
	out := &bytes.Buffer{}
	cmd := exec.Command(harness.Binary(tb), "serve")
	cmd.Env = append(os.Environ(),
		"BERTH_DATABASE_URL="+dsn, "BERTH_LISTEN="+api, "BERTH_METRICS_LISTEN="+metrics, "BERTH_INTERNAL_LISTEN=unix:"+r.Socket,
		"BERTH_KMS_URL=file:"+filepath.Join(s.Dir, "keys"), "BERTH_TRUST_DOMAIN=berth.test",
		"BERTH_INGRESS_SECRETS_FILE="+filepath.Join(s.Dir, "ingress.json"), "BERTH_SOURCE_RATE=100000",
		"BERTH_SOURCE_BURST=100000", "BERTH_NODE_RATE=100000", "BERTH_NODE_BURST=100000", "BERTH_SWEEP_INTERVAL=200ms")
	cmd.Env = append(cmd.Env, s.Extra...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	stop := sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		if err := <-ended; err != nil {
			tb.Errorf("the second berthd ended with %v; it said:\n%s", err, out)
		}
	})
	tb.Cleanup(stop)
	r.pid = func() int { return cmd.Process.Pid }
	s.Eventually("the second berthd is ready", func() bool {
		resp, err := http.Get(r.API + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return r
}

// freeAddresses are two that differ.
func freeAddresses(tb testing.TB) (one, other string) {
	tb.Helper()
	var out [2]string
	for i := range out {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer func() { _ = l.Close() }() // both are held until both are known
		out[i] = l.Addr().String()
	}
	return out[0], out[1]
}

// CPU is the processor time that the process used so far.
func (r *Replica) CPU() time.Duration {
	r.tb.Helper()
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(r.pid()) + "/stat")
	if err != nil {
		r.tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return time.Duration(sum(r.tb, strings.Fields(rest), false)) * tick
}

// Resident is the memory of the process that is in use, in bytes.
func (r *Replica) Resident() float64 {
	r.tb.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(r.pid()) + "/status")
	if err != nil {
		r.tb.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		r.tb.Fatal(err)
	}
	return kib * 1024
}

// Mallocs is how many objects the process allocated so far.
func (r *Replica) Mallocs() float64 { r.tb.Helper(); return r.metric("go_memstats_mallocs_total") }

// Waiting is how many long polls wait for a hint now.
func (r *Replica) Waiting() int { r.tb.Helper(); return int(r.metric("berth_hint_subscriptions")) }

func (r *Replica) metric(name string) float64 {
	r.tb.Helper()
	resp, err := http.Get(r.Metrics + "/metrics")
	if err != nil {
		r.tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.tb.Fatal(err)
	}
	for line := range strings.SplitSeq(string(data), "\n") {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				r.tb.Fatal(err)
			}
			return n
		}
	}
	r.tb.Fatalf("there is no metric %s", name)
	return 0
}
