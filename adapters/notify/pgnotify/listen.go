package pgnotify

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// listen passes on what the other replicas publish until its connection fails or the context ends. A server that says
// nothing for a while is asked for an echo: a connection may be dead for hours without either side noticing.
func (r *Relay) listen(ctx context.Context, l *link, up func()) error {
	if err := r.subscribe(ctx, l); err != nil {
		return err
	}
	if err := r.listenForEcho(ctx, l); err != nil {
		return err
	}
	up()
	r.wakeSoon() // who subscribes from now on reads what was published before, and hears what is published after
	for ctx.Err() == nil {
		err := r.await(ctx, l, r.timing.Silence)
		if err != nil && pgconn.Timeout(err) && !l.IsClosed() && ctx.Err() == nil {
			err = r.listenForEcho(ctx, l)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Relay) subscribe(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Answer)
	defer cancel()
	if _, err := l.Exec(ctx, "LISTEN "+channel).ReadAll(); err != nil {
		return err
	}
	return r.prepare(ctx, l)
}

// listenForEcho sends a message to itself on its own connection and waits until it is back.
func (r *Relay) listenForEcho(ctx context.Context, l *link) error {
	asked := r.probe()
	l.probed, l.echoed = asked.number, false
	if err := r.execute(ctx, l, []payload{asked}); err != nil {
		return err
	}
	until := time.Now().Add(r.timing.Answer)
	for !l.echoed {
		err := r.await(ctx, l, time.Until(until))
		if err != nil && pgconn.Timeout(err) {
			return errNoEcho
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// await waits for one notification, which heard is told of.
func (r *Relay) await(ctx context.Context, l *link, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return l.WaitForNotification(ctx)
}

// heard takes what came over the channel, from whomever.
func (r *Relay) heard(l *link, text string) {
	m, ok := decode(text)
	switch {
	case !ok:
		r.counts.foreign.Add(1)
	case m.sender == r.id:
		l.echoed = l.echoed || m.number == l.probed
		r.returned(m.number)
	case m.kind == allChanged:
		r.wakeSoon()
	case m.kind == topicsChanged:
		r.counts.received.Add(uint64(len(m.topics)))
		r.options.Local.Publish(context.Background(), m.topics...)
	}
}

func (r *Relay) returned(number uint64) {
	if lag, timed := r.echo.returns(number); timed {
		r.counts.lag.Store(int64(lag))
	}
}

func (r *Relay) wakeSoon() {
	select {
	case r.wakes <- struct{}{}:
	default: // one is due, and wakes whoever is there when it begins
	}
}

// wakeEverybody wakes whenever it is due, beside the listener, which has to go on listening meanwhile.
func (r *Relay) wakeEverybody(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wakes:
		}
		begun := time.Now()
		r.options.Local.WakeAll(ctx, r.timing.WakeOver)
		r.counts.wakes.Add(1)
		if !pause(ctx, time.Until(begun.Add(r.timing.WakeOver))) {
			return
		}
	}
}
