package ingress

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"berth/adapters/ingress/upstream"
	"berth/domain/fault"
)

// tunnel joins client and control plane once both agreed on a WebSocket. It lasts until one side ends it, nothing moves
// for too long, the client's certificate ends or its root leaves the bundle, or the ingress stops.
func (x *exchange) tunnel(a *upstream.Answer) error {
	if protocols := a.Header["Upgrade"]; len(protocols) != 1 || !hasToken(protocols, websocket) {
		a.Close()
		return x.lost(&upstream.Error{Fate: upstream.Malformed, Err: errProtocol()})
	}
	behind, early, ok := a.Take()
	if !ok {
		return x.unanswered(x.r.Context(), net.ErrClosed)
	}
	defer behind.Close()
	x.link.tunnel.Store(true)
	x.g.tunnels.Add(1)
	defer x.g.tunnels.Done()
	client, rw, err := x.control.Hijack()
	if err != nil {
		return fault.New(fault.Internal, "internal", "the connection can not be taken over").Because(err)
	}
	defer client.Close()
	select {
	case <-x.g.stopping: // the stop may have passed over this connection before it was a tunnel
		return nil
	default:
	}
	x.status = http.StatusSwitchingProtocols
	x.g.o.Metrics.tunnels.Inc()
	defer x.g.o.Metrics.tunnels.Dec()
	if err := x.switched(client, a.Header, early); err != nil {
		return nil // the client is gone, and there is nobody to tell
	}
	x.join(client, rw.Reader, behind)
	return nil
}

func errProtocol() error {
	return fault.New(fault.Unavailable, "upstream_malformed", "the control plane switched to another protocol")
}

// switched writes the answer that switches, and what came with it.
func (x *exchange) switched(client net.Conn, header http.Header, early []byte) error {
	_ = client.SetDeadline(time.Now().Add(x.g.o.Limits.WriteTimeout)) // a dead connection says so when it is written
	h := http.Header{}
	giveBack(h, header)
	delete(h, "Content-Length")
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{websocket}
	out := bufio.NewWriter(client)
	_, _ = out.WriteString("HTTP/1.1 101 Switching Protocols\r\n") // an error of a bufio.Writer stays until Flush
	_ = h.Write(out)
	_, _ = out.WriteString("\r\n")
	_, _ = out.Write(early)
	if err := out.Flush(); err != nil {
		return err
	}
	return client.SetDeadline(time.Time{})
}

// join copies both ways until either ends, and then ends both.
func (x *exchange) join(client net.Conn, from io.Reader, behind net.Conn) {
	var down int64
	var both sync.WaitGroup
	both.Go(func() {
		down = x.carry(client, behind)
		_ = client.Close()
		_ = behind.Close()
	})
	x.carry(behind, from)
	_ = client.Close()
	_ = behind.Close()
	both.Wait()
	x.bytes = down
}

// carry copies one way. Each piece counts as a sign of life for the tunnel, and a reader that takes none for the write
// timeout ends it.
func (x *exchange) carry(to net.Conn, from io.Reader) (total int64) {
	buffer, _ := x.g.answers.Get().(*[answerBuffer]byte)
	defer x.g.answers.Put(buffer)
	for {
		n, err := from.Read(buffer[:])
		if n > 0 {
			x.link.rest()
			_ = to.SetWriteDeadline(time.Now().Add(x.g.o.Limits.WriteTimeout)) // a dead connection says so below
			written, werr := to.Write(buffer[:n])
			total += int64(written)
			if werr != nil {
				return total
			}
		}
		if err != nil {
			return total
		}
	}
}
