package ingress_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"berth/adapters/ingress"
)

const beat = "POST /internal/v1/nodes/n1/heartbeat HTTP/1.1\r\nHost: control.example:8443\r\nUser-Agent: berth-relay/1\r\n" +
	"Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: 128\r\n\r\n"

var (
	beatRequest = []byte(beat + string(bytes.Repeat([]byte("x"), 128)))
	beatAnswer  = []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: req_01jq0000000000000000000000\r\n" +
		"Cache-Control: no-store\r\nContent-Length: 128\r\n\r\n" + string(bytes.Repeat([]byte("y"), 128)))
)

// answering serves fixed answers to whatever comes, as cheaply as can be, so that what is measured is the ingress.
func answering(tb testing.TB, l net.Listener) {
	tb.Helper()
	var all sync.WaitGroup
	tb.Cleanup(func() { _ = l.Close(); all.Wait() })
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				r := bufio.NewReader(c)
				for swallow(r) == nil {
					if _, err := c.Write(beatAnswer); err != nil {
						return
					}
				}
			})
		}
	})
}

// swallow reads one message, of which the head names the length of the body.
func swallow(r *bufio.Reader) error {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			_, err := r.Discard(length)
			return err
		}
	}
}

// benched is an ingress as it is deployed, before a stub on a Unix socket.
func benched(b *testing.B) (*world, net.Listener) {
	var stub net.Listener
	w := start(b, func(w *world, o *ingress.Options) {
		w.back.close()
		var err error
		stub, err = net.Listen("unix", w.back.path)
		must(b, err)
		answering(b, stub)
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
		o.AccessLog = ingress.LogRefused
		o.Limits.NodeRate, o.Limits.NodeBurst = 1e9, 1e9
	})
	return w, stub
}

// caller asks over one connection, again and again.
type caller struct {
	conn net.Conn
	r    *bufio.Reader
}

func (c caller) ask() error {
	if _, err := c.conn.Write(beatRequest); err != nil {
		return err
	}
	return swallow(c.r)
}

func (w *world) caller() caller {
	conn, err := w.dial(w.client("n1"))
	must(w.tb, err)
	_ = conn.SetDeadline(time.Time{})
	return caller{conn, bufio.NewReader(conn)}
}

// BenchmarkThroughput is how many requests a second pass over kept-alive mutual TLS: load client, ingress and stub in one
// process on the cores that there are.
func BenchmarkThroughput(b *testing.B) {
	const callers = 32
	w, _ := benched(b)
	all := make([]caller, callers)
	for i := range all {
		all[i] = w.caller()
		must(b, all[i].ask())
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	var done sync.WaitGroup
	for _, c := range all {
		done.Go(func() {
			for left.Add(-1) >= 0 {
				if err := c.ask(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	done.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
	b.ReportMetric(float64((cpu(b)-before).Nanoseconds())/1e3/float64(b.N), "cpu-µs/req")
}

// cpu is what this process used so far: other than a rate it does not depend on what else the machine does.
func cpu(tb testing.TB) time.Duration {
	var used syscall.Rusage
	must(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkAddedLatency is what the ingress adds to a request at the median: one caller at a time, in turns straight to the
// stub over its Unix socket, over mutual TLS without an ingress, and through the ingress.
func BenchmarkAddedLatency(b *testing.B) {
	w, stub := benched(b)
	plain, err := net.Dial("unix", stub.Addr().String())
	must(b, err)
	defer plain.Close()
	direct, through, secured := caller{plain, bufio.NewReader(plain)}, w.caller(), w.securedCaller(b)
	var took [3][]time.Duration
	for b.Loop() {
		for i, c := range []caller{direct, secured, through} {
			begin := time.Now()
			if err := c.ask(); err != nil {
				b.Fatal(err)
			}
			took[i] = append(took[i], time.Since(begin))
		}
	}
	var median [3]time.Duration
	for i := range took {
		slices.Sort(took[i])
		median[i] = took[i][len(took[i])/2]
	}
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
	b.ReportMetric(us(median[0]), "direct-µs")
	b.ReportMetric(us(median[1]), "mtls-µs")
	b.ReportMetric(us(median[2]), "ingress-µs")
	b.ReportMetric(us(median[2]-median[0]), "added-µs")
	b.ReportMetric(float64(median[2])/float64(median[1]), "ingress/mtls")
}

// securedCaller asks the stub over mutual TLS with nothing in between.
func (w *world) securedCaller(b *testing.B) caller {
	raw, err := net.Listen("tcp", "127.0.0.1:0")
	must(b, err)
	server := w.ca.issue(b, serverTemplate())
	answering(b, tls.NewListener(raw, &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*server}, ClientAuth: tls.RequireAnyClientCert,
	}))
	conn, err := tls.Dial("tcp", raw.Addr().String(), &tls.Config{
		InsecureSkipVerify: true, Certificates: []tls.Certificate{*w.client("n1")},
	})
	must(b, err)
	b.Cleanup(func() { _ = conn.Close() })
	return caller{conn, bufio.NewReader(conn)}
}

// BenchmarkHandshake is what a new connection costs with its verification.
func BenchmarkHandshake(b *testing.B) {
	w, _ := benched(b)
	cert := w.client("n1")
	b.ReportAllocs()
	for b.Loop() {
		conn, err := w.dial(cert)
		must(b, err)
		must(b, caller{conn, bufio.NewReader(conn)}.ask())
		_ = conn.Close()
	}
}
