package relay

import (
	"context"
	"crypto/ed25519"
	"sync/atomic"
	"time"

	"berth/domain/fault"
	"berth/domain/placement"
	"berth/ports/engine"
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

// expire ends the use of a certificate that is over, and takes it up again where a clock that was ahead was set right: until
// then nobody is asked who could tell the time.
func (k *keeper) expire(ctx context.Context, c *credential) {
	switch {
	case c == nil:
	case !k.now().Before(c.NotAfter):
		lost := k.lose(ctx, fault.New(fault.Unauthenticated, "credential_expired", "the certificate ended at %s", c.NotAfter.Format(time.RFC3339)))
		k.expired = k.expired || lost
	case k.expired:
		k.use(c)
		k.Log.InfoContext(ctx, "the clock was set, and the certificate is in force", "expires_at", c.NotAfter)
	}
}

// rotate gets the next certificate over the current one.
func (k *keeper) rotate(ctx context.Context, c *credential) error {
	purpose := "rotate " + c.Fingerprint
	next := k.untaken.of(purpose)
	if next == nil {
		var err error
		if next, err = k.successor(ctx, purpose); err != nil {
			return err
		}
	}
	if err := k.install(ctx, purpose, next); err != nil {
		return err
	}
	k.counts.rotations.Add(1)
	k.Log.InfoContext(ctx, "the certificate is renewed", "fingerprint", next.Fingerprint, "expires_at", next.NotAfter)
	return nil
}

// successor asks for the certificate that follows the current one.
func (k *keeper) successor(ctx context.Context, purpose string) (*credential, error) {
	key, csr, err := k.prepared(ctx, purpose)
	if err != nil {
		return nil, err
	}
	sent := k.clocks()
	timed, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	in, err := k.Authority.Credentials.Rotate(timed, csr)
	if err != nil {
		k.heard(ctx, err, sent.Elapsed)
		return nil, err
	}
	next, err := k.issued(in, key)
	if err != nil {
		return nil, err
	}
	k.serverTime(ctx, in.ServerTime, sent)
	return next, nil
}

func (k *keeper) clocks() placement.Clocks {
	k.state.mu.RLock()
	defer k.state.mu.RUnlock()
	return k.state.read()
}

// prepared is a key for one request, durable before anybody is asked for a certificate of it, and the request. A key that
// was prepared for the same request, of which the answer was lost, is used again; one for another may be known to whoever
// copied the disk since.
func (k *keeper) prepared(ctx context.Context, purpose string) (key ed25519.PrivateKey, csr []byte, err error) {
	next, ok, err := k.Identity.Prepared(ctx)
	switch slug := fault.SlugOf(err); {
	case slug == "engine_damaged", slug == "file_unsafe": // another one takes its place
		k.Log.WarnContext(ctx, "the key that was prepared can not be used, and another is made", "error", err)
	case err != nil:
		return nil, nil, err
	}
	if !ok || next.For != purpose {
		next = engine.NextKey{Key: k.chance.newKey(), For: purpose}
		if err := k.Identity.Prepare(ctx, next); err != nil {
			return nil, nil, err
		}
	}
	csr, err = request(next.Key)
	return next.Key, csr, err
}

// install makes a certificate the current one: on the disk first, and then for every connection that is made from here
// on.
func (k *keeper) install(ctx context.Context, purpose string, c *credential) error {
	k.untaken = untaken{purpose, c}
	if err := k.Identity.Install(ctx, c.Credential); err != nil {
		return err
	}
	k.untaken = untaken{}
	k.use(c)
	return nil
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

// tried says when to try again.
func (k *keeper) tried(ctx context.Context, what string, err error) time.Duration {
	if err == nil || ctx.Err() != nil {
		return 0
	}
	wait := k.tries.next(k.chance, err, lastRetry)
	k.Log.WarnContext(ctx, what, "error", err, "again_in", wait.Round(time.Millisecond))
	return wait
}

// unheard is for how long the node has had no lease. A certificate whose root is believed no more is refused before
// anybody says why: where it then looks as if nobody answered, a join token that was not spent says what an operator wants.
func (k *keeper) unheard() time.Duration {
	k.state.mu.RLock()
	defer k.state.mu.RUnlock()
	return k.state.clock.Elapsed() - max(k.began, k.state.granted.SentAt+k.state.granted.For)
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
