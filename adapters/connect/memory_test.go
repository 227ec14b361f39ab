package connect_test

import (
	"bufio"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"berth/adapters/connect"
	"berth/adapters/contract"
)

// childVariable makes the test binary a server in a process of its own, so that its memory is its own.
const childVariable = "BERTH_CONNECT_CHILD"

var connections = flag.Int("connections", 5000, "how many connections the memory benchmarks open")

// child serves until its input ends. For each line of it, it says how many bytes it has resident, and how many goroutines.
func child() {
	debug.SetGCPercent(50) // as docs/connect.md has it of the program
	l := connect.DefaultLimits()
	l.ConnectionsPerAddress, l.AcceptRate, l.AcceptBurst = l.Connections, 1e6, 1e6
	l.WriteTimeout = time.Hour // so that stalled readers stay
	log := slog.New(slog.DiscardHandler)
	h := connect.New(connect.Options{Limits: l, Log: log}, newPlane(), nobody{})
	s := connect.NewServer(connect.ServerOptions{
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { c := certificate(); return &c, nil }, Limits: l, Log: log,
	}, h)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go s.Serve(listener)
	fmt.Println(listener.Addr())
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		fmt.Println(resident(), runtime.NumGoroutine())
	}
}

// resident is how much memory the process has resident, in bytes.
func resident() int64 { return status("/proc/self/status", "VmRSS:") << 10 }

// status finds the number behind a name.
func status(file, name string) int64 {
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	_, rest, _ := strings.Cut(string(text), name)
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// apart is a server in a process of its own.
type apart struct {
	*site
	in  io.Writer
	out *bufio.Reader
}

func newApart(b *testing.B) *apart {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	a := &apart{site: &site{tb: b}, in: in, out: bufio.NewReader(out)}
	a.address = strings.TrimSpace(a.line(b))
	return a
}

func (a *apart) line(b *testing.B) string {
	b.Helper()
	line, err := a.out.ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return line
}

// memory waits until the child's memory has settled, and says what it is.
func (a *apart) memory(b *testing.B) (bytes, goroutines int64) {
	b.Helper()
	<-time.After(3 * time.Second)
	fmt.Fprintln(a.in)
	if _, err := fmt.Sscan(a.line(b), &bytes, &goroutines); err != nil {
		b.Fatal(err)
	}
	return bytes, goroutines
}

// device connects without checking the child's certificate, which is not this process's.
func (a *apart) device(b *testing.B, principal string) *phone {
	b.Helper()
	raw, err := tls.Dial("tcp", a.address, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = raw.Close() })
	p := &phone{Conn: raw, tb: b, in: bufio.NewReaderSize(raw, 512)}
	fmt.Fprint(p, upgradeRequest(offer, "Authorization: Bearer "+principal))
	r, err := http.ReadResponse(p.in, nil)
	if a := readAnswer(b, r, err); a.StatusCode != http.StatusSwitchingProtocols {
		b.Fatal(a)
	}
	return p
}

// BenchmarkIdleConnections says how many devices fit into a GiB of the server's resident memory, each with a subscription
// and a message that it published, over TLS. -connections N opens so many.
func BenchmarkIdleConnections(b *testing.B) {
	a := newApart(b)
	a.device(b, "acme.first").works("first-main", "m", 1)
	before, _ := a.memory(b)
	n := *connections
	for i := range n {
		name := fmt.Sprint("p", i)
		p := a.device(b, fmt.Sprintf("t%d.%s", i%200, name))
		p.works(name+"-"+name, "m", 1)
		p.say(`{"op":"subscribe","handle":"%s-%s","after":1}`, name, name)
		p.expect(contract.Frame{Op: contract.OpSubscribed, Route: name, Seq: 1})
	}
	after, goroutines := a.memory(b)
	each := float64(after-before) / float64(n)
	b.ReportMetric(each/1024, "KiB/connection")
	b.ReportMetric((1<<30)/each, "connections/GiB")
	b.ReportMetric((1<<30)/(float64(after)/float64(n)), "connections/GiB-of-all")
	b.ReportMetric(float64(goroutines)/float64(n), "goroutines/connection")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStalledReaders says what devices cost that subscribe to more than they take: in the server, and in the kernel for
// both ends of each connection.
func BenchmarkStalledReaders(b *testing.B) {
	a := newApart(b)
	writer := a.device(b, "acme.writer")
	body := strings.Repeat("x", 40<<10)
	const messages = 100
	for i := range int64(messages) {
		writer.say(`{"op":"publish","handle":"writer-main","id":"%d","body":"%s"}`, i, body)
		writer.expect(contract.Frame{Op: contract.OpAck, ID: fmt.Sprint(i), Seq: i + 1})
	}
	n := min(*connections, 500)
	var all []*phone
	for i := range n {
		all = append(all, a.device(b, fmt.Sprintf("acme.p%d", i)))
	}
	before, _ := a.memory(b)
	kernel := kernelMemory()
	for i, p := range all {
		p.say(`{"op":"subscribe","handle":"p%d-main","after":0}`, i)
	}
	after, _ := a.memory(b)
	b.ReportMetric(float64(after-before)/float64(n)/1024, "KiB/reader")
	b.ReportMetric(float64(kernelMemory()-kernel)/float64(n)/1024, "kernel-KiB/reader")
	b.ReportMetric(0, "ns/op")
}

// kernelMemory is what all TCP connections of the machine hold in their buffers.
func kernelMemory() int64 {
	return status("/proc/net/sockstat", " mem ") * int64(os.Getpagesize())
}

// After 10,000 devices have come and gone, in every way there is, no goroutine, file or session is left. It has the process
// to itself.
func TestNothingIsLeftBehind(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 500
	}
	s := newSite(t, limits())
	bare := httptest.NewServer(s.handler) // most come without TLS, which is quicker
	defer bare.Close()
	visit := func(i int) {
		if i%5 == 0 {
			comeAndGo(t, s.address, clientTLS(), i)
		} else {
			comeAndGo(t, bare.Listener.Addr().String(), nil, i)
		}
	}
	visit(0)
	visit(1)
	settled := func() bool { return s.open() == 0 && s.server.Counts().Connections == 0 }
	eventually(t, "the first has gone", settled)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	work := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range work {
				visit(i)
			}
		})
	}
	for i := 2; i < rounds; i++ {
		work <- i
	}
	close(work)
	all.Wait()
	eventually(t, "all have gone", settled)
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	eventually(t, "no file is left", func() bool { return openFiles(t) <= files })
	if c := s.handler.Counts(); c.Connections != 0 || c.Opened != int64(rounds) || s.left != rounds {
		t.Errorf("counted %+v, and %d sessions that were left", c, s.left)
	}
}

func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// comeAndGo is one device's round.
func comeAndGo(t *testing.T, address string, secured *tls.Config, i int) {
	name := fmt.Sprint("p", i)
	raw, err := net.Dial("tcp", address)
	if err != nil {
		t.Error(err)
		return
	}
	if secured != nil {
		raw = tls.Client(raw, secured)
	}
	defer raw.Close()
	p := &phone{Conn: raw, tb: t, in: bufio.NewReader(raw)}
	_ = p.SetDeadline(time.Now().Add(patience))
	fmt.Fprint(p, upgradeRequest(offer, "Authorization: Bearer acme."+name))
	r, err := http.ReadResponse(p.in, nil)
	if err != nil || r.StatusCode != http.StatusSwitchingProtocols {
		t.Error(r, err)
		return
	}
	defer r.Body.Close()
	switch i / 5 % 4 {
	case 0: // it is gone
	case 1: // it says goodbye
		_, _ = p.Write(masked(whole|opClose, []byte{3, 232}))
		_, _, _ = p.frame()
	case 2: // it speaks something else
		_, _ = p.Write(masked(whole|opBinary, []byte("x")))
		_, _, _ = p.frame()
	case 3: // it leaves while it is being answered
		_, _ = p.Write(masked(whole|opText, fmt.Appendf(nil, `{"op":"subscribe","handle":"%s-main","after":0}`, name)))
	}
}
