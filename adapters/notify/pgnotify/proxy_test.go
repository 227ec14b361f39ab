package pgnotify

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// proxy is a network between a relay and its server, which the test breaks.
type proxy struct {
	tb       testing.TB
	listener net.Listener
	silent   atomic.Bool // swallows what it is sent, on old and new connections
	accepted atomic.Int64

	mu     sync.Mutex
	target string // "" refuses
	conns  []net.Conn
	pumps  sync.WaitGroup
}

func newProxy(tb testing.TB, target string) *proxy {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{tb: tb, listener: listener, target: target}
	p.pumps.Go(p.accept)
	tb.Cleanup(func() {
		_ = listener.Close()
		p.to("")
		p.pumps.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// to cuts every connection, and leads new ones to the target; with none it refuses them.
func (p *proxy) to(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.accepted.Add(1)
		p.join(near)
	}
}

func (p *proxy) join(near net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var far net.Conn
	if p.target != "" {
		far, _ = new(net.Dialer).DialContext(p.tb.Context(), "tcp", p.target)
	}
	if far == nil {
		_ = near.Close()
		return
	}
	p.conns = append(p.conns, near, far)
	p.pumps.Go(func() { p.pump(near, far) })
	p.pumps.Go(func() { p.pump(far, near) })
}

func (p *proxy) pump(from, to net.Conn) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 1<<14)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if p.silent.Load() {
			continue
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// answering is a server that lets everybody in and answers every query the same; or, with refuse, refuses everybody.
func answering(tb testing.TB, value string, refuse *pgproto3.ErrorResponse) (addr string) {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				converse(pgproto3.NewBackend(conn, conn), conn, value, refuse)
			})
		}
	})
	tb.Cleanup(func() {
		_ = listener.Close()
		all.Wait()
	})
	return listener.Addr().String()
}

func converse(server *pgproto3.Backend, conn io.Writer, value string, refuse *pgproto3.ErrorResponse) {
	for {
		first, err := server.ReceiveStartupMessage()
		if err != nil {
			return
		}
		if _, plain := first.(*pgproto3.StartupMessage); plain {
			break
		}
		if _, err := conn.Write([]byte{'N'}); err != nil {
			return
		}
	}
	if refuse != nil {
		server.Send(refuse)
		_ = server.Flush()
		return
	}
	server.Send(&pgproto3.AuthenticationOk{})
	server.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for server.Flush() == nil {
		message, err := server.Receive()
		if err != nil {
			return
		}
		if _, ok := message.(*pgproto3.Query); ok {
			server.Send(&pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{{Name: []byte("value"), DataTypeOID: 25}}})
			server.Send(&pgproto3.DataRow{Values: [][]byte{[]byte(value)}})
			server.Send(&pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")})
			server.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		}
	}
}
