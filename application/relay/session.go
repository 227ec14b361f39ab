package relay

import (
	"context"
	"time"

	"berth/ports/engine"
)

// Session is one device's use of one tenant, over one connection. All methods are safe for concurrent use; Take is called by
// one caller at a time.
type Session struct{}

// Publish is a message that a device publishes. Its Body belongs to the session from here on.
type Publish struct {
	Handle string
	ID     string
	Body   []byte // one JSON value
}

// Subscribed says which route a handle stands for, and the sequence of its last message.
type Subscribed struct {
	Route string
	Head  int64
}

// Enter opens a session. Faults: Unauthenticated device_token_expired; those of authorization.View.Admits and of Gate.Read;
// Exhausted engines_exhausted, too_many_connections.
func (n *Node) Enter(ctx context.Context, d Device, l Line) (*Session, error) { return nil, errStopping() }

// Publish has a message appended, and calls done once: with its sequence, once it is durable and the node may still say so
// (P8); or with why not. done may be called on another goroutine, also before Publish returned, and must not block.
func (s *Session) Publish(p Publish, done func(seq int64, err error)) { done(0, errStopping()) }

// Subscribe begins, or begins anew, to take the messages of a handle's route after a sequence. Messages may be taken before it
// has returned. Faults: Invalid invalid_handle, after_beyond_end; Forbidden handle_refused; Exhausted too_many_subscriptions.
func (s *Session) Subscribe(ctx context.Context, handle string, after int64) (Subscribed, error) {
	return Subscribed{}, errStopping()
}

// Unsubscribe ends a subscription, and returns its route. Fault: NotFound not_subscribed.
func (s *Session) Unsubscribe(handle string) (route string, err error) { return "", errStopping() }

// Take returns the next messages of all subscriptions, of about so many bytes of bodies, at least one where there is any; and
// whether there are more by now. Where there are none, Wake says when there are. What it returns is not to be changed.
func (s *Session) Take(ctx context.Context, bytes int) (messages []engine.Message, more bool, err error) {
	return nil, false, errStopping()
}

// Revoke revokes a principal on behalf of an owner, and returns once that is committed and the principal's sessions here have
// ended (A5). Faults: Forbidden revoke_not_allowed; those of authority.Revocations.
func (s *Session) Revoke(ctx context.Context, principal string) (revision int64, err error) {
	return 0, errStopping()
}

// Renew has the session go on with another token of the same device. Faults: those of Authenticate; Forbidden
// token_of_another_device.
func (s *Session) Renew(token string) (expiresAt time.Time, err error) { return time.Time{}, errStopping() }

// Leave ends the session; its line is not told.
func (s *Session) Leave() {}
