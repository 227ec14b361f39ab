package connect

import (
	"log/slog"
	"time"
)

// Options are what a Handler works with.
type Options struct {
	// URL is where devices come back to, told in every goaway: the connect URL of the region's origin. Where it is empty
	// they take the one they came by.
	URL    string
	Limits Limits
	Log    *slog.Logger
}

// Limits bound what devices can make a node hold and do. Use DefaultLimits and change what is to differ. Sizes are bytes.
type Limits struct {
	Connections             int     // at a time, handshakes included
	ConnectionsPerAddress   int     // of one address; of IPv6 one /64
	ConnectionsPerPrincipal int     // WebSockets of one device
	Handshakes              int     // in flight
	AcceptRate              float64 // connections a second that are let in to their handshake
	AcceptBurst             int

	Frame       int           // of a device's frame
	FrameDepth  int           // of nested JSON values, the frame itself included
	FrameTime   time.Duration // from the first byte of a frame to its last
	FrameRate   float64       // frames a second of one connection; a device that sends more is read more slowly
	FrameBurst  int
	ControlRate float64 // pings, and pongs, a second of one connection; a device that sends more is cut
	PublishBusy int     // publishes of one connection that are not answered yet; then it is read no further

	PingAfter    time.Duration // of silence
	IdleTimeout  time.Duration // of silence, after which a connection is cut
	WriteTimeout time.Duration // in which a device must take what is written
	RevokeTime   time.Duration // that a revoke may take

	Attachment         int64         // of one attachment
	Transfers          int           // of attachments at a time
	TransfersPerDevice int           // of one device
	TransferStall      time.Duration // after which a transfer that does not move is cut
	UploadLeast        int64         // bytes a second, over a whole upload
	HeaderTimeout      time.Duration // of a handshake, and of a request line and header
	KeepAlive          time.Duration // of a connection between two requests
	ReconnectWithin    time.Duration // over which devices that a stop sent away come back
	SettleTimeout      time.Duration // in which a stop waits for the publishes of one connection
}

// DefaultLimits suit a node with some ten thousand devices.
func DefaultLimits() Limits {
	return Limits{
		Connections: 50_000, ConnectionsPerAddress: 10_000, ConnectionsPerPrincipal: 8,
		Handshakes: 256, AcceptRate: 1000, AcceptBurst: 500,
		Frame: 64 << 10, FrameDepth: 32, FrameTime: 10 * time.Second, FrameRate: 2000, FrameBurst: 4000, ControlRate: 5,
		PublishBusy: 64,
		PingAfter:   30 * time.Second, IdleTimeout: 75 * time.Second, WriteTimeout: 10 * time.Second, RevokeTime: 15 * time.Second,
		Attachment: 64 << 20, Transfers: 256, TransfersPerDevice: 4, TransferStall: 30 * time.Second, UploadLeast: 4 << 10,
		HeaderTimeout: 5 * time.Second, KeepAlive: time.Minute,
		ReconnectWithin: 10 * time.Second, SettleTimeout: 2 * time.Second,
	}
}
