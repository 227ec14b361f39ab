package peering

import (
	"context"
	"crypto/tls"
	"net"
)

// Join passes on what comes on either side, as for a WebSocket that was switched.
func Join(f *Forwarder, device net.Conn, peer *tls.Conn) {
	j := &joint{f: f, device: device, peer: peer}
	j.run(context.Background(), nil)
}

// Frames follows what went to a device, and says whether a frame may come next.
func Frames(pieces ...[]byte) bool {
	var f frames
	for _, p := range pieces {
		f.follow(p)
	}
	return f.between()
}

// Split cuts what went to a device into its frames; a close is the last.
func Split(b []byte) (out [][]byte) {
	var f frames
	begin := 0
	for i := range b {
		switch f.follow(b[i : i+1]); {
		case f.closed:
			return append(out, b[begin:])
		case f.have == 0 && f.left == 0:
			out, begin = append(out, b[begin:i+1]), i+1
		}
	}
	return out
}
