package connectclient

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// Client keeps a device connected: it comes back when the origin lets it, subscribes again after the last message that it
// saw, publishes again by the same id what was not acknowledged, and renews its token. Safe for concurrent use.
type Client struct {
	o         Options
	http      *http.Client
	transport *http.Transport
	end       context.CancelFunc
	ended     chan struct{} // closed with the reason set

	mu       sync.Mutex
	wake     chan struct{}            // something is to be sent; of capacity 1
	pending  []*request               // unanswered, in the order in which they were made
	sent     int                      // how many of them went over the connection that there is
	awaiting map[string][]*request    // those of them that are answered in order, by operation
	routes   map[string]*subscription // by route
	subs     []*subscription
	failure  error // why there is no connection; nil while there is one, and before
	reason   error
}

// Dial returns a client that connects, and goes on to connect until Close, or until the origin refuses the device for good:
// Err then says why. It returns at once; what is asked of it waits for the connection.
func Dial(ctx context.Context, o Options) *Client {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	c := &Client{
		o: o, transport: o.transport(), end: end, ended: make(chan struct{}), wake: make(chan struct{}, 1),
		awaiting: map[string][]*request{}, routes: map[string]*subscription{},
	}
	c.http = o.client(c.transport)
	go c.run(ctx)
	return c
}

// Close ends the connection, and everything that waits with Unavailable client_closed. It returns when all has ended.
func (c *Client) Close() error {
	c.end()
	<-c.ended
	return nil
}

// Done is closed when the client connects no more.
func (c *Client) Done() <-chan struct{} { return c.ended }

// Err is why, once Done is closed: Unavailable client_closed after Close, a *Goaway of a revoked device, or what the origin
// refuses for good.
func (c *Client) Err() error {
	select {
	case <-c.ended:
		return c.reason
	default:
		return nil
	}
}

const (
	firstPause   = 500 * time.Millisecond // before the first attempt after a failure; doubled each time
	longestPause = 15 * time.Second
	patience     = 6 // so many doubtful refusals in a row are believed
)

func (c *Client) run(ctx context.Context) {
	defer close(c.ended)
	defer c.transport.CloseIdleConnections()
	failures, refusals := 0, 0
	for {
		connected, err := c.once(ctx)
		if connected {
			failures, refusals = 0, 0
		}
		if doubtful(err) {
			refusals++
		}
		switch {
		case ctx.Err() != nil:
			c.reason = fault.New(fault.Unavailable, "client_closed", "the client was closed")
			return
		case final(err), refusals >= patience:
			c.reason = err
			c.notify(Event{Err: err})
			return
		}
		c.transport.CloseIdleConnections() // at the origin another node may answer, and do better
		c.lately(err)
		pause := pauseAfter(err, failures, c.o.longest())
		failures++
		c.notify(Event{Err: err, Retry: pause})
		if !sleep(ctx, pause) {
			c.reason = fault.New(fault.Unavailable, "client_closed", "the client was closed")
			return
		}
	}
}

// lately remembers why there is no connection, for whoever waits in vain.
func (c *Client) lately(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failure = err
}

func (c *Client) notify(e Event) {
	if c.o.Notify != nil {
		c.o.Notify(e)
	}
}

// final says whether coming back is of no use.
func final(err error) bool {
	if g, ok := errors.AsType[*Goaway](err); ok {
		return g.final()
	}
	lasting := []fault.Kind{fault.Forbidden, fault.NotFound, fault.Invalid, fault.Gone}
	return slices.Contains(lasting, fault.KindOf(err)) && !slices.Contains([]string{
		"tenant_suspended",  // which ends when it is resumed
		"principal_unknown", // to a node that was not told yet of a device just paired
	}, fault.SlugOf(err))
}

// doubtful says whether an answer is believed only when it comes again and again.
func doubtful(err error) bool {
	return fault.KindOf(err) == fault.Unauthenticated || fault.SlugOf(err) == "principal_unknown"
}

// pauseAfter is how long to wait. The origin's own word on it was drawn for this device, and counts as it is; that of an
// answer is in whole seconds and the same for everybody, and is spread.
func pauseAfter(err error, failures int, longest time.Duration) time.Duration {
	if g, ok := errors.AsType[*Goaway](err); ok && failures == 0 {
		return g.RetryAfter
	}
	limit := min(firstPause<<min(failures, 10), longest)
	pause := time.Duration(rand.Int64N(int64(limit))) + 1 //nolint:gosec // it spreads load, and is no secret
	if f, ok := fault.As(err); ok && f.RetryAfter > 0 {
		return min(f.RetryAfter, longest) + pause
	}
	return pause
}

func (o Options) longest() time.Duration {
	if o.Pause > 0 {
		return o.Pause
	}
	return longestPause
}

func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// once connects and serves until the connection ends.
func (c *Client) once(ctx context.Context) (connected bool, err error) {
	conn, err := c.o.connect(ctx, c.http)
	if err != nil {
		return false, err
	}
	ctx, end := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer conn.Abort()
	defer end(nil)
	c.begin()
	c.lately(nil)
	c.notify(Event{Connected: true})
	all.Go(func() { end(c.write(ctx, conn)) })
	all.Go(func() { c.keepToken(ctx, conn.expires) })
	all.Go(func() { <-ctx.Done(); _ = conn.Close() }) // where it was this side that ended it, as one that says goodbye
	err = c.read(context.WithoutCancel(ctx), conn)
	if g, ok := errors.AsType[*Goaway](err); ok && g.Reason == contract.GoawayExpired {
		c.o.Tokens.Forget(conn.token) // it, or the key that signed it, counts no more
	}
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.Canceled) && fault.SlugOf(err) == "connection_lost" {
		err = context.Cause(ctx) // the writer saw it first
	}
	return true, err
}

// read takes what comes until the connection ends.
func (c *Client) read(ctx context.Context, conn *Conn) error {
	for {
		f, err := conn.Receive(ctx)
		if err != nil {
			return err
		}
		if err := c.take(f); err != nil {
			return err
		}
	}
}

const writeBound = time.Minute

// write sends what is asked for, in order.
func (c *Client) write(ctx context.Context, conn *Conn) error {
	for {
		for f, ok := c.next(); ok; f, ok = c.next() {
			if err := c.send(ctx, conn, f); err != nil {
				return err
			}
		}
		select {
		case <-c.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

func (c *Client) send(ctx context.Context, conn *Conn, f contract.Frame) error {
	ctx, cancel := context.WithTimeout(ctx, writeBound)
	defer cancel()
	return conn.Send(ctx, f)
}

// keepToken renews the token of a connection before it runs out. The next one has a quarter of its life at least, and this
// one is renewed when an eighth is left.
func (c *Client) keepToken(ctx context.Context, expires time.Time) {
	for {
		left := time.Until(expires)
		if !sleep(ctx, left-left/8) {
			return
		}
		token, err := c.o.Tokens.Token(ctx)
		if err != nil || !token.ExpiresAt.After(expires) {
			return // the origin ends the connection then, and the next one has another token
		}
		if _, err := c.ask(ctx, contract.Frame{Op: contract.OpRenew, Token: token.AccessToken}); err != nil {
			return
		}
		expires = token.ExpiresAt
	}
}
