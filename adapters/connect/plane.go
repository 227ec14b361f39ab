package connect

import (
	"context"
	"io"
	"net/http"
	"time"

	"berth/application/relay"
	"berth/ports/authority"
	"berth/ports/engine"
)

// Plane is the node, as devices' connections see it.
type Plane interface {
	// Authenticate verifies a token without asking anybody (A7). Faults: Unauthenticated device_token_*; Unavailable
	// keys_unknown, keys_stale.
	Authenticate(token string) (relay.Device, error)
	// Locate says who serves a tenant (R3). forwarded is the generation that a peer believes, where the request came from
	// one; such a request is served here or refused.
	Locate(ctx context.Context, tenant string, forwarded *int64) (relay.Where, error)
	// Relocate is Locate after the peer that a route led to did not take the request (R3).
	Relocate(ctx context.Context, refused authority.Route) (relay.Where, error)
	// Enter opens a session. Faults are those of the tenant's and the device's standing, and Exhausted where there is too
	// much open.
	Enter(ctx context.Context, d relay.Device, l relay.Line) (Session, error)
	// Files opens a device's way to its tenant's attachments.
	Files(ctx context.Context, d relay.Device) (Files, error)
}

// Session is a device's session. Its methods are safe for concurrent use.
type Session interface {
	Stream
	Account
}

// Stream is what a session does with its tenant's routes.
type Stream interface {
	// Publish calls done once, on any goroutine, with the sequence once the message is durable; done returns at once.
	Publish(p relay.Publish, done func(seq int64, err error))
	// Subscribe has messages after a sequence come from Take. Fault: Invalid after_beyond_end.
	Subscribe(ctx context.Context, handle string, after int64) (relay.Subscribed, error)
	Unsubscribe(handle string) (route string, err error)
	// Take returns the next messages of all subscriptions, about so many bytes of them and one at least where there is any;
	// and whether there is more. Line.Wake says when there is something again.
	Take(ctx context.Context, bytes int) (messages []engine.Message, more bool, err error)
}

// Account is what a session does with who it is.
type Account interface {
	// Revoke returns once the revoke is committed (A5).
	Revoke(ctx context.Context, principal string) (revision int64, err error)
	// Renew takes a later token of the same device.
	Renew(token string) (expiresAt time.Time, err error)
	// Leave ends the session. What it began goes on.
	Leave()
}

// Files are a tenant's attachments, for one device. Its methods ask the gate each time.
type Files interface {
	// Stat says how large an attachment is. Fault: NotFound attachment_missing.
	Stat(ctx context.Context, digest [32]byte) (size int64, err error)
	// Content opens an attachment. Fault: NotFound attachment_missing.
	Content(ctx context.Context, digest [32]byte) (io.ReadSeekCloser, error)
	// Uploaded says how much there is of an upload of this device's that is not whole.
	Uploaded(ctx context.Context, digest [32]byte) (int64, error)
	// Upload takes a part, as engine.Attachments has it.
	Upload(ctx context.Context, u relay.Upload, from io.Reader) (whole bool, err error)
	// Permitted says why the device may not go on, if so: a transfer that stands still asks for nothing by itself.
	Permitted() error
	// Close lets go of the tenant.
	Close()
}

// Forwarder takes a request to the peer that serves its tenant (R3).
type Forwarder interface {
	// Forward answers the request with what the peer answers, and returns when that has ended; of a WebSocket when the
	// connection has. An error means that nothing was written yet: the route may be stale.
	Forward(w http.ResponseWriter, r *http.Request, to authority.Route) error
}
