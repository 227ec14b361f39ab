package relay

import (
	"time"

	"berth/domain/fault"
)

// reasons are what a device is told of a refusal that ends its session.
var reasons = map[string]Reason{ //nolint:gochecknoglobals // an immutable table
	"principal_revoked":    Revoked,
	"principal_unknown":    Revoked, // it was known when the session began
	"tenant_suspended":     Suspended,
	"tenant_closed":        Suspended,
	"tenant_not_active":    Suspended,
	"not_holder":           Moved,
	"generation_changed":   Moved,
	"device_token_expired": Expired, "device_token_key_retired": Expired,
	"stopping":        Shutdown,
	"node_superseded": Shutdown,
}

// endOf is how a session ends for a refusal, of so many that end with it.
func (n *Node) endOf(err error, herd int) End {
	reason, is := reasons[fault.SlugOf(err)]
	if !is {
		reason = Unavailable
	}
	if reason == Unavailable || reason == Shutdown { // other tenants' devices come back at the same time
		herd = max(herd, int(n.rooms.crowd.Load()))
	}
	return End{Reason: reason, Err: err, Retry: n.retry(reason, herd)}
}

// cutOf is how a session ends that is not told whether its message counts (P8). A node that holds the tenant still, and may not
// write to it just now, is not one that the tenant moved away from.
func (n *Node) cutOf(tenant string, err error) End {
	e := n.endOf(err, 1)
	if e.Reason == Moved && n.Gate().Read(tenant) == nil {
		e.Reason = Unavailable
	}
	return e
}

const (
	// retryEach makes room for one device after the other: 5,000 of them come back over ten seconds.
	retryEach  = 2 * time.Millisecond
	retryLeast = 500 * time.Millisecond
	retryMost  = time.Minute
)

// retry is how long a device waits before it comes back, of so many that are sent away at once.
func (n *Node) retry(r Reason, herd int) time.Duration {
	switch r {
	case Expired, Revoked: // by itself, and with another token; or not at all
		return 0
	case Moved, Draining, Shutdown, Suspended, Unavailable, Overload:
	}
	return n.chance.upTo(min(retryMost, max(retryLeast, time.Duration(herd)*retryEach)))
}

// later says when trying again makes sense, where a refusal does not.
func (n *Node) later(err error) error {
	f, ok := fault.As(err)
	if !ok || f.Kind != fault.Unavailable || f.RetryAfter > 0 {
		return err
	}
	return f.After(retryLeast + n.chance.upTo(time.Second))
}
