package pgnotify

import (
	"context"
	"strings"
	"time"
)

const (
	statement = "hints"
	notifySQL = "SELECT count(pg_notify('" + channel + "', payload)) FROM unnest($1::text[]) AS payload"
	perNotify = 32 // payloads in one statement, 250 KB
	shutdown  = 200 * time.Millisecond
)

// send sends what is queued until its connection fails or the context ends. While one statement is under way, and the
// gap after it, the next batch gathers: publishing more costs the server no more statements.
func (r *Relay) send(ctx context.Context, l *link, up func()) error {
	work, cancel := lingering(ctx)
	defer cancel()
	if err := r.prepare(work, l); err != nil {
		return err
	}
	if err := r.notify(work, l, []payload{r.probe()}); err != nil {
		return err
	}
	up()
	timer := time.NewTimer(r.timing.Silence)
	defer timer.Stop()
	for {
		payloads, b := []payload(nil), batch{}
		select {
		case <-ctx.Done():
			return r.notify(work, l, r.encode(r.queue.take()))
		case <-r.queue.ready:
			b = r.queue.take()
			payloads = r.encode(b)
		case <-timer.C:
			payloads = []payload{r.probe()}
		}
		if err := r.notify(work, l, payloads); err != nil {
			r.queue.merge(b) // whatever of it was sent already is sent twice
			return err
		}
		r.counts.sent.Add(uint64(len(b.topics)))
		if !pause(ctx, r.timing.Gap) {
			return r.notify(work, l, r.encode(r.queue.take()))
		}
		timer.Reset(r.timing.Silence)
	}
}

// lingering ends a little after ctx, so that the last changes before a shutdown are told of.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(shutdown, cancel) })
	return work, func() { stop(); cancel() }
}

func (r *Relay) encode(b batch) []payload {
	if b.all {
		return []payload{newPayload(r.id, r.next(), allChanged)}
	}
	return encodeTopics(r.id, r.next, b.topics)
}

func (r *Relay) probe() payload { return newPayload(r.id, r.next(), probe) }

func (r *Relay) next() uint64 { return r.number.Add(1) }

func (r *Relay) prepare(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Answer)
	defer cancel()
	_, err := l.Prepare(ctx, statement, notifySQL, nil)
	return err
}

// notify sends the payloads in order.
func (r *Relay) notify(ctx context.Context, l *link, payloads []payload) error {
	for len(payloads) > 0 {
		n := min(len(payloads), perNotify)
		r.echo.leaves(payloads[0].number, r.timing.Answer)
		if err := r.execute(ctx, l, payloads[:n]); err != nil {
			return err
		}
		r.counts.notifies.Add(1)
		payloads = payloads[n:]
	}
	return nil
}

func (r *Relay) execute(ctx context.Context, l *link, payloads []payload) error {
	ctx, cancel := context.WithTimeout(ctx, r.timing.Answer)
	defer cancel()
	texts := make([]string, len(payloads))
	for i, p := range payloads {
		texts[i] = p.text
	}
	array := []byte(`{"` + strings.Join(texts, `","`) + `"}`) // none holds a quote or a backslash
	return l.ExecPrepared(ctx, statement, [][]byte{array}, nil, nil).Read().Err
}
