package connect_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
)

// phone is a device that writes its frames byte by byte, so that a test can write any.
type phone struct {
	net.Conn
	tb testing.TB
	in *bufio.Reader
}

func upgradeRequest(headers ...string) string {
	return "GET /connect/v1 HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n" + strings.Join(append(headers, "\r\n"), "\r\n")
}

// connect connects a device.
func (s *site) connect(token string) *phone {
	s.tb.Helper()
	p, r := s.attempt(upgradeRequest("Sec-WebSocket-Protocol: "+contract.ConnectProtocol, "Authorization: Bearer "+token))
	if r.StatusCode != http.StatusSwitchingProtocols {
		s.tb.Fatalf("%s is answered %s %s", token, r.Status, r.Body)
	}
	return p
}

// answer is an answer over HTTP that was read to its end.
type answer struct {
	StatusCode    int
	Status        string
	Header        http.Header
	Body          string
	ContentLength int64
	Close         bool
}

func readAnswer(tb testing.TB, r *http.Response, err error) answer {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Body.Close()
	a := answer{r.StatusCode, r.Status, r.Header, "", r.ContentLength, r.Close}
	if r.StatusCode != http.StatusSwitchingProtocols {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			tb.Fatal(err)
		}
		a.Body = string(body)
	}
	return a
}

// attempt sends a request as it is, and reads the answer.
func (s *site) attempt(request string) (*phone, answer) {
	s.tb.Helper()
	p := &phone{Conn: s.dial(), tb: s.tb}
	p.in = bufio.NewReader(p.Conn)
	if _, err := io.WriteString(p, request); err != nil {
		s.tb.Fatal(err)
	}
	_ = p.SetReadDeadline(time.Now().Add(patience))
	r, err := http.ReadResponse(p.in, nil)
	return p, readAnswer(s.tb, r, err)
}

// masked is a client's frame (RFC 6455 §5.2).
func masked(first byte, payload []byte) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	key := [4]byte{1, 2, 3, 4}
	b = append(b, key[:]...)
	for i, c := range payload {
		b = append(b, c^key[i%4])
	}
	return b
}

const (
	whole      = 0x80
	opContinue = 0x0
	opText     = 0x1
	opBinary   = 0x2
	opClose    = 0x8
	opPing     = 0x9
	opPong     = 0xA
)

func (p *phone) raw(b []byte) {
	p.tb.Helper()
	_ = p.SetWriteDeadline(time.Now().Add(patience))
	if _, err := p.Write(b); err != nil {
		p.tb.Fatal(err)
	}
}

func (p *phone) say(format string, args ...any) {
	p.tb.Helper()
	p.raw(masked(whole|opText, fmt.Appendf(nil, format, args...)))
}

// frame reads the next frame.
func (p *phone) frame() (op byte, payload []byte, err error) {
	_ = p.SetReadDeadline(time.Now().Add(patience))
	return readFrame(p.in)
}

func readFrame(in io.Reader) (op byte, payload []byte, err error) {
	var head [2]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	n := uint64(head[1])
	var long [8]byte
	switch n {
	case 126:
		_, err = io.ReadFull(in, long[6:])
		n = binary.BigEndian.Uint64(long[:])
	case 127:
		_, err = io.ReadFull(in, long[:])
		n = binary.BigEndian.Uint64(long[:])
	}
	if err == nil && (head[0]&whole == 0 || n > 1<<20) {
		err = fmt.Errorf("a frame of the server begins %x and has %d bytes", head[0], n)
	}
	if err != nil {
		return 0, nil, err
	}
	payload = make([]byte, n)
	_, err = io.ReadFull(in, payload)
	return head[0] & 0xf, payload, err
}

// hear reads the next frame of the protocol, strictly.
func (p *phone) hear() contract.Frame {
	p.tb.Helper()
	for {
		op, payload, err := p.frame()
		if err != nil {
			p.tb.Fatal(err)
		}
		if op == opPing {
			continue
		}
		if op != opText {
			p.tb.Fatalf("got %x %q", op, payload)
		}
		return decoded(p.tb, payload)
	}
}

func decoded(tb testing.TB, payload []byte) (f contract.Frame) {
	tb.Helper()
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&f); err != nil {
		tb.Fatalf("%s: %v", payload, err)
	}
	return f
}

// expect reads the next frame and compares what the test names of it.
func (p *phone) expect(want contract.Frame) contract.Frame {
	p.tb.Helper()
	got := p.hear()
	if got.Op != want.Op || got.Slug != want.Slug || got.ID != want.ID || got.Seq != want.Seq || got.Route != want.Route ||
		got.Of != want.Of || got.Reason != want.Reason || string(got.Body) != string(want.Body) {
		p.tb.Fatalf("got %+v, want %+v", got, want)
	}
	return got
}

// closes reads the close frame, and that nothing follows it.
func (p *phone) closes(code int, reason string) {
	p.tb.Helper()
	op, payload, err := p.frame()
	if err != nil || op != opClose || len(payload) < 2 {
		p.tb.Fatalf("got %x %q %v instead of a close", op, payload, err)
	}
	if got := int(binary.BigEndian.Uint16(payload)); got != code || string(payload[2:]) != reason {
		p.tb.Fatalf("closed %d %q, want %d %q", got, payload[2:], code, reason)
	}
	p.gone()
}

// gone reads the end of the connection.
func (p *phone) gone() {
	p.tb.Helper()
	op, payload, err := p.frame()
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		p.tb.Fatalf("got %x %q %v instead of the end", op, payload, err)
	}
}

// works publishes, and has it acknowledged.
func (p *phone) works(handle, id string, seq int64) {
	p.tb.Helper()
	p.say(`{"op":"publish","handle":%q,"id":%q,"body":{"n":1}}`, handle, id)
	p.expect(contract.Frame{Op: contract.OpAck, ID: id, Seq: seq})
}

// eventually waits for what must come true.
func eventually(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !is(); {
		if time.Now().After(end) {
			tb.Fatalf("it never came true that %s", what)
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // it looks again, and hides nothing
	}
}
