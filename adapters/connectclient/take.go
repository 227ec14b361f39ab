package connectclient

import (
	"math/rand/v2"
	"slices"
	"time"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// answers is the operation that each answer is to.
var answers = map[string]string{ //nolint:gochecknoglobals // an immutable table
	contract.OpSubscribed: contract.OpSubscribe, contract.OpUnsubscribed: contract.OpUnsubscribe,
	contract.OpRevoked: contract.OpRevoke, contract.OpRenewed: contract.OpRenew,
}

// take does what a frame says. The error is of what ends the connection.
func (c *Client) take(f contract.Frame) error {
	switch f.Op {
	case contract.OpMessage:
		c.deliver(f)
	case contract.OpAck:
		c.settle(c.published(f.ID), answer{frame: f})
	case contract.OpError:
		return c.refused(f)
	default:
		if of, ok := answers[f.Op]; ok {
			r := c.first(of)
			c.established(r, f)
			c.settle(r, answer{frame: f})
		} // what is not known here is of a later protocol
	}
	return nil
}

// deliver passes a message on, once.
func (c *Client) deliver(m Message) {
	c.mu.Lock()
	s := c.routes[m.Route]
	if s == nil || m.Seq <= s.after {
		c.mu.Unlock()
		return
	}
	s.after = m.Seq
	c.mu.Unlock()
	s.deliver(m)
}

// established remembers the route of a subscription, so that its messages find it.
func (c *Client) established(r *request, f contract.Frame) {
	if r == nil || f.Op != contract.OpSubscribed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.subs {
		if s.handle == r.frame.Handle {
			s.route = f.Route
			c.routes[f.Route] = s
		}
	}
}

// refused gives an error to who asked. One that is to nobody's request is of the connection.
func (c *Client) refused(f contract.Frame) error {
	err := refusalOf(f)
	if f.Of == contract.OpPublish && f.ID != "" {
		if r := c.published(f.ID); f.RetryAfterMS > 0 {
			c.later(r, time.Duration(f.RetryAfterMS)*time.Millisecond)
		} else {
			c.settle(r, answer{err: err})
		}
		return nil
	}
	r := c.first(f.Of)
	if r == nil {
		return err
	}
	c.settle(r, answer{err: err})
	if r.once && r.frame.Op == contract.OpSubscribe { // nobody waits for one that is made again
		return err
	}
	return nil
}

// refusalOf is an error frame as a fault. Frames carry no kind: those that matter to a client follow from the slug.
func refusalOf(f contract.Frame) *fault.Error {
	kind, ok := kinds[f.Slug]
	if !ok {
		kind = fault.Invalid
	}
	return fault.New(kind, f.Slug, "%s", f.Detail)
}

// published is the publish of an id that waits.
func (c *Client) published(id string) *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.pending, func(r *request) bool { return r.frame.Op == contract.OpPublish && r.frame.ID == id })
	if i < 0 {
		return nil
	}
	return c.pending[i]
}

// later has a publish sent again, where waiting helps, as the origin says. Those that were told the same do not come at once.
func (c *Client) later(r *request, after time.Duration) {
	if r == nil {
		return
	}
	time.AfterFunc(after+rand.N(after), func() { //nolint:gosec // it spreads load, and is no secret
		c.mu.Lock()
		defer c.mu.Unlock()
		i := slices.Index(c.pending, r)
		if i < 0 || i >= c.sent { // it was given up, or goes over another connection by now
			return
		}
		c.pending = append(slices.Delete(c.pending, i, i+1), r)
		c.sent--
		c.rouse()
	})
}

// first is the request of an operation that was sent first and is unanswered.
func (c *Client) first(op string) *request {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.awaiting[op]
	if len(waiting) == 0 {
		return nil
	}
	c.awaiting[op] = waiting[1:]
	return waiting[0]
}

// settle answers a request.
func (c *Client) settle(r *request, a answer) {
	if r == nil {
		return // whose asker went
	}
	c.forget(r)
	r.answer <- a
}
