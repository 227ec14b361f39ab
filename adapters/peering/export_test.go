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
