package relay

import (
	"context"
	"crypto/ed25519"
	"sync/atomic"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
)

// keeper keeps the node's certificate (I5): it enrols, renews in time, and finds out that the certificate is accepted no
// more. At every moment the disk holds a certificate in use with its key, and at most one more key, of which a
// certificate was asked for: a crash or a lost answer between any two steps leaves one of the two to go on with.
type keeper struct {
	*Node
	current   atomic.Pointer[credential]
	installed atomic.Int64 // Elapsed from which requests show the current one
	wake      chan struct{}
	doubted   atomic.Bool // whoever ends TLS refused the current one last, before anybody was asked who the node is

	// The rest belongs to run alone.
	began   time.Duration
	tries   backoff
	told    string // what was said last of why there is no certificate
	expired bool   // the certificate is lost by this machine's clock, and by nobody else's word
	unfit   unfit
	untaken untaken
}

func newKeeper(n *Node) *keeper { return &keeper{Node: n, wake: make(chan struct{}, 1)} }

const (
	watchToken  = 2 * time.Second // how often a join token is looked for, while one is needed
	watchClock  = time.Minute     // how long the keeper sleeps at most
	askAnew     = 30 * time.Second
	skewAllowed = 2 * time.Second // between this wall clock and the control plane's, before people are told
)

// usable says whether the node has a certificate that is accepted, as far as it knows.
func (k *keeper) usable() bool {
	k.state.mu.RLock()
	defer k.state.mu.RUnlock()
	return k.current.Load() != nil && k.state.lost == nil
}

// Certificate is what the node shows: a chain in DER, its own first, and the key. ok is false while there is none.
func (n *Node) Certificate() (chain [][]byte, key ed25519.PrivateKey, ok bool) {
	c := n.keeper.current.Load()
	if c == nil {
		return nil, nil, false
	}
	return c.Chain, c.Key, true
}

// now is the control plane's time as far as it is known: certificates begin and end by it.
func (k *keeper) now() time.Time {
	k.state.mu.RLock()
	defer k.state.mu.RUnlock()
	return k.Clock.Now().Add(k.state.skew)
}

// run keeps the certificate until the context ends.
func (k *keeper) run(ctx context.Context) {
	k.began = k.Clock.Elapsed()
	k.load(ctx)
	for {
		if !k.pause(ctx, k.step(ctx), k.wake) {
			return
		}
	}
}

// load takes up the certificate that is on the disk.
func (k *keeper) load(ctx context.Context) {
	kept, ok, err := k.Identity.Current(ctx)
	if err == nil && ok {
		var c *credential
		if c, err = k.read(kept); err == nil {
			k.use(c)
			k.Log.InfoContext(ctx, "the certificate is taken up", "fingerprint", c.Fingerprint, "expires_at", c.NotAfter)
			return
		}
	}
	if err == nil {
		err = fault.New(fault.Unauthenticated, "credential_missing", "the node has no certificate")
	} else {
		k.Log.ErrorContext(ctx, "the certificate on the disk can not be used", "error", err)
	}
	k.state.mu.Lock()
	defer k.state.mu.Unlock()
	k.state.lost = lostBy(err)
}

// step does the one thing that is due, and says when to look again.
func (k *keeper) step(ctx context.Context) time.Duration {
	c := k.current.Load()
	k.expire(ctx, c)
	if !k.usable() {
		return k.enrol(ctx)
	}
	if k.doubted.Load() || k.unheard() > askAnew {
		if token, hash, ok, _ := k.fresh(ctx); ok {
			return k.tried(ctx, "the node could not enrol anew", k.spend(ctx, token, hash))
		}
	}
	if left := c.renewAt.Sub(k.now()); left > 0 {
		k.tries = backoff{}
		return min(left, k.watch())
	}
	if err := k.rotate(ctx, c); err != nil {
		wait := k.tries.next(k.chance, err, min(lastRetry, c.NotAfter.Sub(c.NotBefore)/20))
		k.Log.WarnContext(ctx, "the certificate could not be renewed; the current one stays in use", "error", err,
			"expires_at", c.NotAfter, "again_in", wait.Round(time.Millisecond))
		return wait
	}
	return 0
}

func (k *keeper) clocks() placement.Clocks {
	k.state.mu.RLock()
	defer k.state.mu.RUnlock()
	return k.state.read()
}

func (k *keeper) use(c *credential) {
	k.current.Store(c)
	if k.Renewed != nil {
		k.Renewed()
	}
	k.installed.Store(int64(k.Clock.Elapsed()))
	k.doubted.Store(false)
	k.state.mu.Lock()
	back := k.state.lost != nil
	k.state.lost = nil
	k.state.mu.Unlock()
	k.tries, k.told, k.expired = backoff{}, "", false
	k.news.tell()
	if back {
		k.renewAll()
		k.beats.rouse()
	}
}

// watch is how long the keeper sleeps at most: a wall clock may be set, and a join token may be left for it.
func (k *keeper) watch() time.Duration {
	if k.doubted.Load() || k.unheard() > 0 {
		return watchToken
	}
	return watchClock
}

// lose ends the use of the certificate: nothing is served until there is another one. It says whether it was in use.
func (k *keeper) lose(ctx context.Context, err error) (first bool) {
	k.state.mu.Lock()
	first = k.state.lost == nil
	if first {
		k.state.lost = lostBy(err)
	}
	k.state.mu.Unlock()
	if !first {
		return false
	}
	k.fence.rouse()
	k.rouse()
	k.Log.ErrorContext(ctx, "the certificate is accepted no more: nothing is served", "error", err)
	return true
}

// rouse has the keeper look at once.
func (k *keeper) rouse() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func lostBy(err error) error {
	f, ok := fault.As(err)
	switch {
	case !ok:
		f = fault.New(fault.Unauthenticated, "credential_missing", "the node has no certificate").Because(err)
	case f.Cure != "":
		return f
	}
	return f.Curable("make a join token for this node, and put it where the node looks for it")
}

// heard looks at a refusal of a request that was sent at the instant given: whether it means that the certificate is
// accepted no more. A request that showed an earlier certificate says nothing of the current one.
func (k *keeper) heard(ctx context.Context, err error, sent time.Duration) {
	if sent <= time.Duration(k.installed.Load()) {
		return
	}
	switch {
	case endsCredential(err) && k.usable():
		k.lose(ctx, err)
	case fault.SlugOf(err) == "certificate_refused" && !k.doubted.Swap(true):
		k.rouse()
	}
}

// serverTime learns how far the two wall clocks are apart from an answer to a request that was sent at the instant given.
func (k *keeper) serverTime(ctx context.Context, server time.Time, sent placement.Clocks) {
	if server.IsZero() {
		return
	}
	k.state.mu.Lock()
	now := k.state.read()
	// The answer was made at some time in between.
	skew := server.Sub(sent.Wall.Add((now.Elapsed - sent.Elapsed) / 2))
	was := k.state.skew
	k.state.skew = skew
	k.state.mu.Unlock()
	if apart(skew - was) {
		k.rouse() // the certificate may have to be renewed by now, or have ended
	}
	if apart(skew) != apart(was) {
		k.Log.WarnContext(ctx, "the clocks of this machine and of the control plane are apart", "skew", skew.Round(time.Millisecond),
			"allowed", skewAllowed, "apart", apart(skew))
	}
}

func apart(skew time.Duration) bool { return skew.Abs() > skewAllowed }

// Identity is how the node's certificate stands, for people.
type Identity struct {
	SPIFFEID    string
	Fingerprint string
	NotAfter    time.Time
	RenewAt     time.Time
	Lost        error // why it is not accepted; nil while it is
}

func (k *keeper) status() Identity {
	out := Identity{SPIFFEID: k.settings.Self.String()}
	if c := k.current.Load(); c != nil {
		out.Fingerprint, out.NotAfter, out.RenewAt = c.Fingerprint, c.NotAfter, c.renewAt
	}
	k.state.mu.RLock()
	defer k.state.mu.RUnlock()
	out.Lost = k.state.lost
	return out
}
