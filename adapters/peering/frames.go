package peering

import (
	"encoding/binary"

	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
)

// What a WebSocket is closed with (RFC 6455 §7.4.1).
const (
	closeGoingAway uint16 = 1001
	closeTryAgain  uint16 = 1013
)

// frames follow a node's WebSocket frames (RFC 6455 §5.2), to know whether another one may come in between. What is in them is
// not looked at. The zero value is before the first.
type frames struct {
	head    [10]byte
	have    int    // bytes of the head so far
	left    uint64 // bytes of the body to come
	message bool   // more frames of the same message are to come
	closed  bool   // a close went by, or what no node sends
}

const (
	finBit     = 0x80
	maskBit    = 0x80
	opcodeBits = 0x0f
	opContinue = 0x0
	opText     = 0x1
	opClose    = 0x8
	length16   = 126
	length64   = 127
)

// follow goes on with what was sent.
func (f *frames) follow(b []byte) {
	for len(b) > 0 && !f.closed {
		if f.left > 0 {
			skip := min(f.left, uint64(len(b)))
			f.left -= skip
			b = b[skip:]
			continue
		}
		f.head[f.have] = b[0]
		f.have++
		b = b[1:]
		f.begin()
	}
}

// begin takes up a frame once its head is whole.
func (f *frames) begin() {
	if f.have < 2 {
		return
	}
	size := 2
	switch length := f.head[1] &^ maskBit; length {
	case length16:
		size += 2
	case length64:
		size += 8
	default:
		f.left = uint64(length)
	}
	if f.have < size {
		f.left = 0
		return
	}
	switch size {
	case 4:
		f.left = uint64(binary.BigEndian.Uint16(f.head[2:]))
	case 10:
		f.left = binary.BigEndian.Uint64(f.head[2:])
	}
	f.have = 0
	f.note(f.head[0], f.head[1])
}

func (f *frames) note(first, second byte) {
	op := first & opcodeBits
	f.closed = op == opClose || second&maskBit != 0
	if op < opClose {
		f.message = first&finBit == 0
	}
}

// between says whether a frame may come next that begins a message.
func (f *frames) between() bool { return f.have == 0 && f.left == 0 && !f.message && !f.closed }

// farewell is a goaway and the close after it, as a node sends them: unmasked.
func farewell(g contract.Frame, code uint16) []byte {
	body, _ := json.Marshal(g) // a frame has nothing that can not be written
	out := []byte{finBit | opText, length16}
	out = binary.BigEndian.AppendUint16(out, uint16(len(body))) //nolint:gosec // a reason, a number and a URL
	if len(body) < length16 {
		out = []byte{finBit | opText, byte(len(body))} //nolint:gosec // it is less than 126
	}
	out = append(out, body...)
	out = append(out, finBit|opClose, byte(2+len(g.Reason))) //nolint:gosec // a word
	out = binary.BigEndian.AppendUint16(out, code)
	return append(out, g.Reason...)
}
