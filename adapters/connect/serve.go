package connect

import (
	"context"

	"berth/adapters/contract"
	"berth/application/relay"
)

// serve does what a frame asks for. It returns once the next frame may be read, which of a publish is at once.
func (c *conn) serve(data []byte) {
	c.pace()
	if !c.room() {
		return
	}
	r, err := parse(data, c.h.o.Limits.FrameDepth)
	if err != nil {
		c.fail(r, err, contract.CloseMalformed)
		return
	}
	switch r.op {
	case contract.OpPublish:
		c.publish(r)
	case contract.OpSubscribe:
		c.inOrder(r, c.subscribe)
	case contract.OpUnsubscribe:
		c.inOrder(r, c.unsubscribe)
	case contract.OpRevoke:
		c.hold(true) // a device can not be heard while it is not read
		c.answer(r, c.revoke)
		c.hold(false)
	case contract.OpRenew:
		c.answer(r, c.renew)
	}
}

// publish has a message published. Its answer comes from wherever the message became durable.
func (c *conn) publish(r request) {
	c.mu.Lock()
	c.busy++
	c.mu.Unlock()
	c.session.Publish(relay.Publish{Handle: r.handle, ID: r.id, Body: r.body}, func(seq int64, err error) {
		r.body = nil
		c.published(r, seq, err)
	})
}

func (c *conn) published(r request, seq int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	if c.phase == open || c.phase == settling {
		line := c.line()
		if err == nil {
			*line = ack(*line, r.id, seq)
		} else {
			*line = text(*line, refusal(r, err))
		}
		c.kick()
	}
	if c.busy == 0 && c.step(answered) {
		c.hurry()
		c.kick()
	}
}

// answer answers a frame, with the error where there is one.
func (c *conn) answer(r request, do func(request) (contract.Frame, error)) {
	f, err := do(r)
	if err != nil {
		f = refusal(r, err)
	}
	c.tell(f)
}

// inOrder answers a frame so that messages of the route come neither before subscribed nor after unsubscribed.
func (c *conn) inOrder(r request, do func(request) (contract.Frame, error)) {
	c.order.Lock()
	defer c.order.Unlock()
	c.answer(r, do)
}

func (c *conn) subscribe(r request) (contract.Frame, error) {
	s, err := c.session.Subscribe(c.h.ctx, r.handle, r.after)
	return contract.Frame{Op: contract.OpSubscribed, Route: s.Route, Seq: s.Head}, err
}

func (c *conn) unsubscribe(r request) (contract.Frame, error) {
	route, err := c.session.Unsubscribe(r.handle)
	return contract.Frame{Op: contract.OpUnsubscribed, Route: route}, err
}

func (c *conn) revoke(r request) (contract.Frame, error) {
	ctx, cancel := context.WithTimeout(c.h.ctx, c.h.o.Limits.RevokeTime)
	defer cancel()
	revision, err := c.session.Revoke(ctx, r.principal)
	return contract.Frame{Op: contract.OpRevoked, Principal: r.principal, Revision: revision}, err
}

func (c *conn) renew(r request) (contract.Frame, error) {
	until, err := c.session.Renew(r.token)
	return contract.Frame{Op: contract.OpRenewed, ExpiresAt: &until}, err
}

// hold says that the device is not read for now, so that its silence means nothing.
func (c *conn) hold(held bool) {
	c.mu.Lock()
	c.held = held
	c.mu.Unlock()
	c.heard.Store(c.h.now())
}
