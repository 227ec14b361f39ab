package relayload

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// The environment of a child of the test binary that is a NATS server.
const (
	natsDir     = "RELAYLOAD_NATS_DIR" // where it keeps its streams
	natsCert    = "RELAYLOAD_NATS_CERT"
	natsKey     = "RELAYLOAD_NATS_KEY"
	natsStreams = "RELAYLOAD_NATS_STREAMS"
)

// The test binary is the other system's server too, as a process of its own.
func TestMain(m *testing.M) {
	if os.Getenv(natsDir) == "" {
		os.Exit(m.Run())
	}
	err := serveNATS()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveNATS runs JetStream on files, with a sync before each acknowledgement, behind a WebSocket listener with TLS. It prints
// where that is once the streams are there, and ends with SIGTERM.
func serveNATS() error {
	cert, err := tls.LoadX509KeyPair(os.Getenv(natsCert), os.Getenv(natsKey))
	if err != nil {
		return err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "nats", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: os.Getenv(natsDir), SyncAlways: true, JetStreamMaxStore: 64 << 30, JetStreamMaxMemory: 1 << 30,
		Websocket: server.WebsocketOpts{
			Host: "127.0.0.1", Port: -1, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}},
		},
	})
	if err != nil {
		return err
	}
	s.Start()
	defer s.WaitForShutdown()
	defer s.Shutdown()
	if !s.ReadyForConnections(startBound) {
		return errors.New("it does not come up")
	}
	if err := makeStreams(s); err != nil {
		return err
	}
	fmt.Println("listening", strings.TrimPrefix(s.WebsocketURL(), "wss://"))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	return nil
}

func makeStreams(s *server.Server) error {
	c, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return err
	}
	defer c.Close()
	js, err := c.JetStream()
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(os.Getenv(natsStreams))
	for i := 0; i < count && err == nil; i++ {
		_, err = js.AddStream(&nats.StreamConfig{
			Name: fmt.Sprintf("S%d", i), Subjects: []string{subject(i)}, Storage: nats.FileStorage, Replicas: 1,
		})
	}
	return err
}

func subject(stream int) string { return fmt.Sprintf("s.%d", stream) }

// startNATS starts one with so many streams.
func startNATS(tb testing.TB, streams int) (p *Process, at Endpoint) {
	tb.Helper()
	dir := tb.TempDir()
	c := newCredentials(tb, dir)
	self, err := os.Executable()
	must(tb, err)
	p = run(tb, self, map[string]string{natsDir: dir, natsCert: c.cert, natsKey: c.key, natsStreams: strconv.Itoa(streams)})
	var address string
	p.within(startBound, "it listens", func() bool {
		_, rest, found := strings.Cut(p.out.String(), "listening ")
		address, _, _ = strings.Cut(rest, "\n")
		return found && address != ""
	})
	_, port, err := net.SplitHostPort(address)
	must(tb, err)
	return p, Endpoint{Address: net.JoinHostPort("127.0.0.1", port), Path: "/", TLS: c.trust}
}

// natsLane speaks the protocol of NATS: a message with a subject to reply to, by which its acknowledgement is told from others.
type natsLane struct {
	subject string
	name    string // of this connection among all
	ids     bool   // each message has an id by which the server knows it again, as Berth's have
	b, rest []byte
	pinged  bool // and not answered yet
}

const inbox = "_INBOX.lane."

// Greet introduces a connection and subscribes to what will be replied.
func (l *natsLane) Greet(s *Socket) error {
	s.Add(Binary, []byte(`CONNECT {"verbose":false,"pedantic":false,"headers":true,"no_responders":true,"lang":"go","version":"1"}`+
		"\r\nSUB "+l.inbox()+"* 1\r\nPING\r\n"))
	if err := s.Flush(); err != nil {
		return err
	}
	for {
		frame, err := s.Next()
		if err != nil || bytes.Contains(frame, []byte("PONG\r\n")) {
			return err
		}
	}
}

func (l *natsLane) inbox() string { return inbox + l.name + "." }

// Publish is Dialect's.
func (l *natsLane) Publish(s *Socket, n int64) {
	if l.pinged {
		l.pinged = false
		s.Add(Binary, []byte("PONG\r\n"))
	}
	l.b = l.b[:0]
	if !l.ids {
		l.b = fmt.Appendf(l.b, "PUB %s %s%d %d\r\n%s\r\n", l.subject, l.inbox(), n, len(Payload), Payload)
		s.Add(Binary, l.b)
		return
	}
	header := fmt.Appendf(nil, "NATS/1.0\r\nNats-Msg-Id: %s-%d\r\n\r\n", l.name, n)
	l.b = fmt.Appendf(l.b, "HPUB %s %s%d %d %d\r\n%s%s\r\n", l.subject, l.inbox(), n, len(header), len(header)+len(Payload), header, Payload)
	s.Add(Binary, l.b)
}

// Acks is Dialect's. What the server says is a stream of lines, whatever frames they come in.
func (l *natsLane) Acks(frame []byte, acked func(int64)) error {
	l.rest = append(l.rest, frame...)
	in := l.rest
	for {
		line, rest, whole := bytes.Cut(in, []byte("\r\n"))
		if !whole {
			break
		}
		if string(line) == "PING" || string(line) == "PONG" {
			l.pinged, in = l.pinged || string(line) == "PING", rest
			continue
		}
		if !bytes.HasPrefix(line, []byte("MSG ")) {
			return fmt.Errorf("this is no acknowledgement: %s", line)
		}
		body, rest, whole := bytes.Cut(rest, []byte("\r\n"))
		if !whole {
			break
		}
		if !bytes.Contains(body, []byte(`"seq":`)) || bytes.Contains(body, []byte(`"error"`)) {
			return fmt.Errorf("this acknowledges nothing: %s", body)
		}
		to, _, _ := bytes.Cut(line[len("MSG "):], []byte(" "))
		n, err := strconv.ParseInt(string(to[bytes.LastIndexByte(to, '.')+1:]), 10, 64)
		if err != nil {
			return err
		}
		acked(n)
		in = rest
	}
	l.rest = append(l.rest[:0], in...)
	return nil
}

func natsLanes(tb testing.TB, at Endpoint, load shape, ids bool, p *Phase) (lanes []*Lane) {
	tb.Helper()
	for i := range load.tenants {
		for j := range load.devices {
			s, err := Open(at)
			must(tb, err)
			tb.Cleanup(s.Close)
			l := &natsLane{subject: subject(i), name: fmt.Sprintf("%d-%d", i, j), ids: ids}
			must(tb, l.Greet(s))
			lanes = append(lanes, NewLane(s, l, p))
		}
	}
	return lanes
}

// Berth beside NATS JetStream: the same loads one after the other on the same machine, both over WebSocket with TLS and both
// with each message on the disk before it is acknowledged. Berth knows a repeated message by its id; NATS does with ids.
func BenchmarkBesideNATS(b *testing.B) {
	for _, load := range shapes() {
		b.Run(load.name, func(b *testing.B) {
			var berth, plain, ids Result
			b.Run("berth", func(b *testing.B) { berth = berthKeeping(b, load); berth.Report(b) })
			b.Run("nats", func(b *testing.B) { plain = natsKeeping(b, load, false); plain.Report(b) })
			b.Run("nats-ids", func(b *testing.B) { ids = natsKeeping(b, load, true); ids.Report(b) })
			if berth.Ops == 0 || plain.Ops == 0 || ids.Ops == 0 {
				return // not all of them were asked for
			}
			b.Run("ratio", func(b *testing.B) {
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(berth.Rate()/plain.Rate(), "berth/nats")
				b.ReportMetric(berth.Rate()/ids.Rate(), "berth/nats-ids")
			})
		})
	}
}

func natsKeeping(b *testing.B, load shape, ids bool) Result {
	server, at := startNATS(b, load.tenants)
	p := &Phase{}
	lanes := natsLanes(b, at, load, ids, p)
	return Drive(b, p, []*Process{server}, lanes, func(_ int, l *Lane) { l.Keep(load.inFlight) })
}
