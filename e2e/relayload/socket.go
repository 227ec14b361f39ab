package relayload

import (
	"bufio"
	"crypto/rand"
	"crypto/tls"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Endpoint is where a WebSocket is opened, and by what.
type Endpoint struct {
	Address     string // host:port
	Path        string
	Subprotocol string // may be empty
	Bearer      string // a token; may be empty
	TLS         *tls.Config
	From        string // the address that is dialled from; empty for any
}

// Refused is an upgrade that was answered by something else.
type Refused struct {
	Status int
	Body   string
}

// Error makes it an error.
func (r *Refused) Error() string {
	return fmt.Sprintf("the upgrade is refused: %d %s", r.Status, r.Body)
}

// Socket is one WebSocket of a client that costs little: several frames leave in one write, and what is read is handed out
// in the buffer that it was read into. One goroutine reads; others may write.
type Socket struct {
	c    net.Conn
	in   []byte // bytes from r to w are read and not handed out
	r, w int

	mu  sync.Mutex
	out []byte // frames that are not written yet
}

const (
	dialBound = 20 * time.Second
	firstIn   = 512 // an idle connection shall cost this end little too
	mostIn    = 1 << 20
)

// Open opens a WebSocket. Errors: a *Refused, where the server answers something else.
func Open(e Endpoint) (*Socket, error) {
	dialer := &net.Dialer{Timeout: dialBound}
	if e.From != "" {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(e.From)}
	}
	raw, err := dialer.Dial("tcp", e.Address)
	if err != nil {
		return nil, err
	}
	c := tls.Client(raw, e.TLS)
	s := &Socket{c: c}
	if err := s.upgrade(e); err != nil {
		_ = c.Close()
		return nil, err
	}
	return s, nil
}

func (s *Socket) upgrade(e Endpoint) error {
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	var b strings.Builder
	fmt.Fprintf(&b, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n",
		e.Path, e.TLS.ServerName, base64.StdEncoding.EncodeToString(key))
	if e.Subprotocol != "" {
		fmt.Fprintf(&b, "Sec-WebSocket-Protocol: %s\r\n", e.Subprotocol)
	}
	if e.Bearer != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", e.Bearer)
	}
	b.WriteString("\r\n")
	if err := s.c.SetDeadline(time.Now().Add(dialBound)); err != nil {
		return err
	}
	if _, err := io.WriteString(s.c, b.String()); err != nil {
		return err
	}
	in := bufio.NewReaderSize(s.c, firstIn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		return err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(io.LimitReader(answer.Body, firstIn))
		_ = answer.Body.Close()
		return &Refused{answer.StatusCode, string(body)}
	}
	early, _ := in.Peek(in.Buffered()) // what is buffered can be peeked at
	s.in = append(make([]byte, 0, firstIn), early...)
	s.w = len(early)
	s.in = s.in[:cap(s.in)]
	return s.c.SetDeadline(time.Time{})
}

// Close ends the connection without a word.
func (s *Socket) Close() { _ = s.c.Close() }

// Opcodes of RFC 6455 §5.2, with the bit that says that the frame is a whole message.
const (
	Text   = 0x81
	Binary = 0x82

	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xA
)

// mask is the key of every frame: nobody stands between the two ends who might be misled.
const mask = 0xA5C3965A

// Add puts a frame in line.
func (s *Socket) Add(first byte, payload []byte) {
	s.mu.Lock()
	s.out = frame(s.out, first, payload)
	s.mu.Unlock()
}

// Flush writes what is in line, at once.
func (s *Socket) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.out) == 0 {
		return nil
	}
	_, err := s.c.Write(s.out)
	s.out = s.out[:0]
	return err
}

func frame(b []byte, first byte, payload []byte) []byte {
	const masked, length16, length64 = 0x80, 126, 127
	switch n := len(payload); {
	case n < length16:
		b = append(b, first, masked|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, first, masked|length16), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, first, masked|length64), uint64(n))
	}
	b = binary.LittleEndian.AppendUint32(b, mask)
	at := len(b)
	b = append(b, payload...)
	p := b[at:]
	for ; len(p) >= 8; p = p[8:] {
		binary.LittleEndian.PutUint64(p, binary.LittleEndian.Uint64(p)^(mask|mask<<32))
	}
	for i := range p {
		p[i] ^= byte(uint32(mask) >> (8 * (i % 4)))
	}
	return b
}

// Next waits for the next frame that holds data, and answers pings. The payload holds until the next call. Errors: io.EOF
// after a close frame, or what broke the connection.
func (s *Socket) Next() ([]byte, error) {
	for {
		first, payload, err := s.next()
		if err != nil {
			return nil, err
		}
		switch first & 0x0F {
		case opClose:
			return nil, io.EOF
		case opPing:
			s.Add(0x80|opPong, payload)
			if err := s.Flush(); err != nil {
				return nil, err
			}
		case opPong:
		default:
			return payload, nil
		}
	}
}

// Ready says whether Next has a whole frame without reading.
func (s *Socket) Ready() bool {
	_, whole := s.whole()
	return whole
}

func (s *Socket) next() (byte, []byte, error) {
	for {
		if at, whole := s.whole(); whole {
			first, payload := s.in[s.r], s.in[s.r+at[0]:s.r+at[1]]
			s.r += at[1]
			return first, payload, nil
		}
		if err := s.fill(); err != nil {
			return 0, nil, err
		}
	}
}

// whole is where in the frame that comes next its payload begins and ends, and whether all of it has been read.
func (s *Socket) whole() (at [2]int, ok bool) {
	b := s.in[s.r:s.w]
	if len(b) < 2 {
		return at, false
	}
	begin, n := 2, int(b[1]&0x7F)
	switch n {
	case 126:
		if begin = 4; len(b) >= begin {
			n = int(binary.BigEndian.Uint16(b[2:]))
		}
	case 127:
		if begin = 10; len(b) >= begin {
			n = int(min(binary.BigEndian.Uint64(b[2:]), mostIn))
		}
	}
	return [2]int{begin, begin + n}, len(b) >= begin+n
}

func (s *Socket) fill() error {
	if s.r > 0 {
		s.w = copy(s.in, s.in[s.r:s.w])
		s.r = 0
	}
	if s.w == len(s.in) {
		if s.w >= mostIn {
			return fmt.Errorf("a frame has more than %d bytes", mostIn)
		}
		s.in = append(s.in, make([]byte, max(len(s.in), firstIn))...)
	}
	n, err := s.c.Read(s.in[s.w:])
	s.w += n
	if n > 0 {
		return nil
	}
	return err
}
