package connectclient

import (
	"context"
	"fmt"
	"slices"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// request is a frame that is answered, however many connections that takes.
type request struct {
	frame  contract.Frame
	once   bool // it concerns one connection alone, and ends with it
	answer chan answer
}

type answer struct {
	frame contract.Frame
	err   error
}

// subscription is what is delivered of a route.
type subscription struct {
	handle  string
	route   string // once it is known
	after   int64
	deliver func(Message)
}

// Message is a message of a route.
type Message = contract.Frame

// Publish publishes a JSON text, and returns its sequence in the route once it is durable. The id makes it happen once, also
// where it is published again later. Faults: those of the origin; Conflict publish_in_flight; Unavailable client_closed,
// request_ended, after which it may have happened.
func (c *Client) Publish(ctx context.Context, handle, id string, body []byte) (seq int64, err error) {
	f, err := c.ask(ctx, contract.Frame{Op: contract.OpPublish, Handle: handle, ID: id, Body: body})
	return f.Seq, err
}

// Subscribe has the messages of a route after a sequence delivered, in order and each once, through every loss of the
// connection. deliver is called on the goroutine that reads, which waits for it: it asks nothing of the client. The answer
// is the route, and the sequence of its last message. Faults: those of the origin, NotFound and after_beyond_end among
// them; Unavailable client_closed, request_ended.
func (c *Client) Subscribe(ctx context.Context, handle string, after int64, deliver func(Message)) (route string, head int64, err error) {
	s := &subscription{handle: handle, after: after, deliver: deliver}
	c.mu.Lock()
	if slices.ContainsFunc(c.subs, func(o *subscription) bool { return o.handle == handle }) {
		c.mu.Unlock()
		return "", 0, fault.New(fault.Conflict, "subscribed_already", "the client has subscribed to this route already")
	}
	c.subs = append(c.subs, s)
	r := c.enqueue(s.frame())
	c.mu.Unlock()
	f, err := c.await(ctx, r)
	if err != nil {
		c.drop(handle)
	}
	return f.Route, f.Seq, err
}

// Unsubscribe ends a subscription.
func (c *Client) Unsubscribe(ctx context.Context, handle string) error {
	c.drop(handle)
	_, err := c.ask(ctx, contract.Frame{Op: contract.OpUnsubscribe, Handle: handle})
	return err
}

func (c *Client) drop(handle string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subs = slices.DeleteFunc(c.subs, func(s *subscription) bool {
		if s.handle == handle && c.routes[s.route] == s {
			delete(c.routes, s.route)
		}
		return s.handle == handle
	})
}

// Revoke revokes a principal of the tenant, as an owner may, and returns once that is committed. Faults: those of the
// origin; Unavailable client_closed, request_ended.
func (c *Client) Revoke(ctx context.Context, principal string) (revision int64, err error) {
	f, err := c.ask(ctx, contract.Frame{Op: contract.OpRevoke, Principal: principal})
	return f.Revision, err
}

func (s *subscription) frame() contract.Frame {
	after := s.after
	return contract.Frame{Op: contract.OpSubscribe, Handle: s.handle, After: &after}
}

// ask sends a frame and waits for its answer.
func (c *Client) ask(ctx context.Context, f contract.Frame) (contract.Frame, error) {
	c.mu.Lock()
	if f.Op == contract.OpPublish && slices.ContainsFunc(c.pending, func(r *request) bool { return r.frame.Op == f.Op && r.frame.ID == f.ID }) {
		c.mu.Unlock()
		return f, fault.New(fault.Conflict, "publish_in_flight", "a publish of this id waits for its answer")
	}
	r := c.enqueue(f)
	c.mu.Unlock()
	return c.await(ctx, r)
}

// enqueue has a frame sent. The lock is held.
func (c *Client) enqueue(f contract.Frame) *request {
	r := &request{frame: f, answer: make(chan answer, 1), once: f.Op == contract.OpRenew || f.Op == contract.OpUnsubscribe}
	c.pending = append(c.pending, r)
	c.rouse()
	return r
}

// rouse has the writer look.
func (c *Client) rouse() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *Client) await(ctx context.Context, r *request) (contract.Frame, error) {
	select {
	case a := <-r.answer:
		return a.frame, a.err
	case <-c.ended:
		return contract.Frame{}, c.reason
	case <-ctx.Done():
		c.forget(r)
		return contract.Frame{}, c.unanswered(context.Cause(ctx))
	}
}

// unanswered says of a request whose time was over what was in its way.
func (c *Client) unanswered(why error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure == nil {
		return fault.New(fault.Unavailable, "request_ended", "the request ended first").Because(why)
	}
	return fault.New(fault.Unavailable, "request_ended", "the request ended before there was a connection").
		Because(fmt.Errorf("%w (%w)", c.failure, why))
}

// forget takes a request out. Its place among those that are answered in order stays.
func (c *Client) forget(r *request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.pending, r); i >= 0 {
		c.pending = slices.Delete(c.pending, i, i+1)
		if i < c.sent {
			c.sent--
		}
	}
}

// begin starts a connection anew: with the subscriptions that stood, and then with all that is unanswered.
func (c *Client) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var again []*request
	for _, s := range c.subs {
		if s.route != "" {
			again = append(again, &request{frame: s.frame(), once: true, answer: make(chan answer, 1)})
		}
	}
	for _, r := range c.pending {
		if !r.once {
			again = append(again, r)
			continue
		}
		r.answer <- answer{err: fault.New(fault.Unavailable, "connection_lost", "the connection broke")}
	}
	c.pending, c.sent = again, 0
	clear(c.awaiting)
}

// next is the next frame to send.
func (c *Client) next() (contract.Frame, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent >= len(c.pending) {
		return contract.Frame{}, false
	}
	r := c.pending[c.sent]
	c.sent++
	if r.frame.Op != contract.OpPublish {
		c.awaiting[r.frame.Op] = append(c.awaiting[r.frame.Op], r)
	}
	return r.frame, true
}
