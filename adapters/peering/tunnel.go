package peering

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
	"berth/ports/authority"
)

// tunnel forwards a request for a WebSocket, over a connection of its own.
func (f *Forwarder) tunnel(w http.ResponseWriter, r *http.Request, to authority.Route) error {
	peer, err := f.dial(r.Context(), place{to.Address, to.SPIFFEID})
	if err != nil {
		return f.failed(r.Context(), to, err)
	}
	defer peer.NetConn().Close() // at once: there is nothing left to say
	stop := context.AfterFunc(r.Context(), func() { _ = peer.NetConn().Close() })
	defer stop()
	_ = peer.SetDeadline(time.Now().Add(f.o.Limits.AnswerTimeout)) // a dead connection says so below
	head := &io.LimitedReader{R: peer, N: maxAnswerHead}
	from := bufio.NewReaderSize(head, pieceSize)
	a, err := shake(peer, from, r, to)
	if err != nil {
		return f.failed(r.Context(), to, broken(err))
	}
	defer a.Body.Close()
	if err := refusalOf(a); err != nil {
		return f.failed(r.Context(), to, err)
	}
	if a.StatusCode != http.StatusSwitchingProtocols {
		head.N = math.MaxInt64
		f.giveBack(w, a, func() { _ = peer.NetConn().Close() })
		return nil
	}
	early, _ := from.Peek(from.Buffered()) // what is buffered can be peeked at
	if !stop() {
		return f.failed(r.Context(), to, io.ErrUnexpectedEOF)
	}
	_ = peer.SetDeadline(time.Time{})
	return f.join(w, r, a.Header, peer, early)
}

const maxAnswerHead = 64 << 10

// shake sends the opening handshake and reads the answer to it.
func shake(peer *tls.Conn, from *bufio.Reader, r *http.Request, to authority.Route) (*http.Response, error) {
	out := &http.Request{
		Method: http.MethodGet, URL: &url.URL{Path: r.URL.Path, RawPath: r.URL.RawPath, RawQuery: r.URL.RawQuery}, Host: r.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: pass(r, to, true),
	}
	line := bufio.NewWriter(peer)
	_ = out.Write(line) // an error of a bufio.Writer stays until Flush
	if err := line.Flush(); err != nil {
		return nil, err
	}
	a, err := http.ReadResponse(from, out)
	if err != nil {
		return nil, err
	}
	if a.StatusCode < http.StatusOK && a.StatusCode != http.StatusSwitchingProtocols ||
		a.StatusCode == http.StatusSwitchingProtocols && a.Header.Get("Upgrade") != "websocket" {
		return nil, unavailable("peer_malformed", "the peer does not answer an opening handshake as such", nil)
	}
	return a, nil
}

// join switches the device's connection over, and passes on what comes on either until both have ended.
func (f *Forwarder) join(w http.ResponseWriter, r *http.Request, answered http.Header, peer *tls.Conn, early []byte) error {
	device, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fault.New(fault.Internal, "internal", "the connection can not be taken over").Because(err)
	}
	defer device.Close()
	sent, _ := rw.Reader.Peek(rw.Reader.Buffered()) // what is buffered can be peeked at
	narrow(device)
	narrow(peer)
	j := &joint{f: f, device: device, peer: peer}
	_ = device.SetDeadline(time.Now().Add(f.o.Limits.StallTimeout)) // a dead connection says so below
	if j.switched(answered, early) != nil {
		return nil // the device is gone, and there is nobody to tell
	}
	_ = device.SetDeadline(time.Time{})
	f.tunnels.Add(1)
	defer f.tunnels.Add(-1)
	j.run(r.Context(), append([]byte(nil), sent...))
	return nil
}

const kernelBuffer = 32 << 10 // of the kernel, for each direction; Linux takes twice as much

// narrow bounds what the kernel holds of a connection: whoever does not read would have it hold megabytes.
func narrow(c net.Conn) {
	for {
		over, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		c = over.NetConn()
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_, _ = tcp.SetReadBuffer(kernelBuffer), tcp.SetWriteBuffer(kernelBuffer) // only memory depends on it
	}
}

// switched writes the answer that switches, and what came with it.
func (j *joint) switched(answered http.Header, early []byte) error {
	h := http.Header{}
	giveBack(h, answered)
	delete(h, "Content-Length")
	h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	out := bufio.NewWriter(j.device)
	_, _ = out.WriteString("HTTP/1.1 101 Switching Protocols\r\n") // an error of a bufio.Writer stays until Flush
	_ = h.Write(out)
	_, _ = out.WriteString("\r\n")
	_, _ = out.Write(early)
	j.frames.follow(early)
	return out.Flush()
}

// closesWrite is a connection of which one direction can be ended.
type closesWrite interface{ CloseWrite() error }

func closeWrite(c net.Conn) {
	if half, ok := c.(closesWrite); ok && half.CloseWrite() == nil {
		return
	}
	_ = c.Close()
}

// goaway is what a device is told that has lost its peer: it comes back at a moment of its own.
func (f *Forwarder) goaway(reason string) contract.Frame {
	return contract.Frame{Op: contract.OpGoaway, Reason: reason, RetryAfterMS: f.jitter().Milliseconds(), URL: f.o.URL}
}
