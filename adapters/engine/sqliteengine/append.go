package sqliteengine

import (
	"runtime"
	"time"

	"berth/domain/ident"
	"berth/domain/stream"
	"berth/ports/engine"
)

// A commit takes at most so many messages, of so many bytes of bodies in all; more may wait, but not without end.
const (
	batchMessages = 512
	batchBytes    = 2 << 20
	waitMessages  = 4096
	waitBytes     = 32 << 20

	allWaitBytes = 256 << 20 // of all Engines together, and with what is around each message
	aroundEach   = 256
)

type waiting struct {
	engine.Write

	done func(engine.Appended, error)
}

type answer struct {
	engine.Appended

	err error
}

// Append has a message appended with the next commit. What is refused at once is answered before it returns.
func (e *Engine) Append(w engine.Write, done func(engine.Appended, error)) {
	if err := e.wait(waiting{w, done}); err != nil {
		done(engine.Appended{}, err)
	}
}

func (e *Engine) wait(w waiting) error {
	if err := stream.CheckID(w.ID); err != nil {
		return err
	}
	if err := stream.CheckSize(w.Body); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return engine.Closed()
	case len(e.queue) >= waitMessages || e.queued >= waitBytes:
		return engine.Busy()
	case !e.disk.waits(w.size()):
		return engine.Busy()
	}
	e.queue = append(e.queue, w)
	e.queued += len(w.Body)
	if !e.running {
		e.running = true
		e.hands.Go(e.run)
	}
	return nil
}

// size is what the message takes while it waits.
func (w waiting) size() int64 { return aroundEach + int64(len(w.Body)) }

// waits counts bytes that wait, where so many more may.
func (d *Disk) waits(bytes int64) bool {
	if d.waiting.Add(bytes) <= d.mostWaiting {
		return true
	}
	d.waiting.Add(-bytes)
	return false
}

// run commits until nothing waits any more. An Engine that is idle has no goroutine.
func (e *Engine) run() {
	var answers []answer
	for {
		batch := e.take()
		if batch == nil {
			return
		}
		e.disk.turns <- struct{}{}
		answers = e.append(batch, answers[:0])
		<-e.disk.turns
		for i := range batch {
			batch[i].done(answers[i].Appended, answers[i].err)
		}
		clear(batch)
		runtime.Gosched() // who was answered has more to append: into this commit rather than the one after
	}
}

// take takes what goes into one commit.
func (e *Engine) take() []waiting {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queue) == 0 {
		e.queue, e.running = nil, false
		return nil
	}
	n, bytes, size := 0, 0, int64(0)
	for n < min(len(e.queue), batchMessages) && (n == 0 || bytes+len(e.queue[n].Body) <= batchBytes) {
		bytes += len(e.queue[n].Body)
		size += e.queue[n].size()
		n++
	}
	e.disk.waiting.Add(-size)
	batch := e.queue[:n:n]
	if e.queue = e.queue[n:]; len(e.queue) == 0 {
		e.queue = nil
	}
	e.queued -= bytes
	return batch
}

// append commits a batch and says what became of each.
func (e *Engine) append(batch []waiting, answers []answer) []answer {
	f := e.file
	f.mu.Lock()
	defer f.mu.Unlock()
	err := e.usable()
	if err == nil {
		err = f.within(func(r *row) error {
			for _, w := range batch {
				a, err := f.put(r, e.disk.limits, w.Write)
				if err != nil {
					return err
				}
				answers = append(answers, a)
			}
			return f.flush(r)
		})
	}
	if err == nil {
		return answers
	}
	answers = answers[:0]
	for range batch {
		answers = append(answers, answer{err: e.fault(err)})
	}
	return answers
}

// known is what the writer remembers of what is in the file, as of a sequence of the copy.
type known struct {
	sequence   int64
	routes     map[string]*route
	principals map[string]int64
}

type route struct {
	number, head int64
	grown        bool // in this transaction
}

// maxKnown bounds what is remembered.
const maxKnown = 256

func nothing() known {
	return known{sequence: -1, routes: map[string]*route{}, principals: map[string]int64{}}
}

func (f *file) routeOf(name string) (*route, error) {
	if r := f.routes[name]; r != nil {
		return r, nil
	}
	is, err := f.getRoute.one(name)
	if err != nil {
		return nil, err
	}
	r := &route{}
	if is != nil {
		r.number, r.head = number(is[0]), number(is[1])
	} else {
		if is, err = f.addRoute.one(name); err != nil {
			return nil, err
		}
		r.number = number(is[0])
	}
	f.routes[name] = r
	return r, nil
}

func (f *file) principalOf(name string) (int64, error) {
	if n, known := f.principals[name]; known {
		return n, nil
	}
	is, err := f.getPrincipal.one(name)
	if err == nil && is == nil {
		is, err = f.addPrincipal.one(name)
	}
	if err != nil {
		return 0, err
	}
	f.principals[name] = number(is[0])
	return number(is[0]), nil
}

// put puts one message into the transaction, or says why not; its own error is the transaction's.
func (f *file) put(r *row, limits stream.Limits, w engine.Write) (answer, error) {
	if !r.Commits(w.Generation) {
		return answer{err: engine.Fenced()}, nil
	}
	to, err := f.routeOf(w.Route)
	if err != nil {
		return answer{}, err
	}
	principal, err := f.principalOf(w.Principal)
	if err != nil {
		return answer{}, err
	}
	cost := stream.Cost(w.Route, w.Principal, w.ID, w.Body)
	seq, refused := stream.Next(to.head)
	if refused == nil {
		refused = limits.Admits(r.used, cost)
	}
	if refused != nil {
		return f.repeat(to, principal, w, refused)
	}
	switch added, err := f.addID.exec(to.number, principal, w.ID, seq); {
	case err != nil:
		return answer{}, err
	case added == 0:
		return f.repeat(to, principal, w, nil)
	}
	at := ident.Instant(w.At)
	if _, err := f.addMessage.exec(to.number<<sequenceBits|seq, principal, w.ID, at.UnixMicro(), w.Body); err != nil {
		return answer{}, err
	}
	to.head, to.grown = seq, true
	r.messages++
	r.used += cost
	return answer{Appended: engine.Appended{Seq: seq, At: at}}, nil
}

// repeat answers a message whose id was used before; one whose id was not is refused.
func (f *file) repeat(to *route, principal int64, w engine.Write, refused error) (answer, error) {
	is, err := f.getID.one(to.number, principal, w.ID)
	switch {
	case err != nil:
		return answer{}, err
	case is == nil:
		return answer{err: refused}, nil
	}
	seq := number(is[0])
	is, err = f.getMessage.one(to.number<<sequenceBits | seq)
	switch {
	case err != nil:
		return answer{}, err
	case is == nil:
		return answer{}, garbled(f.tenant, nil)
	}
	a := answer{Appended: engine.Appended{Seq: seq, At: instant(is[0]), Before: true}}
	if differs := stream.Repeats(blob(is[1]), w.Body); differs != nil {
		a = answer{err: differs}
	}
	return a, nil
}

func instant(v any) time.Time { return time.UnixMicro(number(v)).UTC() }

// flush writes the heads of the routes that grew, once each.
func (f *file) flush(r *row) error {
	grown := false
	for _, to := range f.routes {
		if to.grown {
			if _, err := f.setRoute.exec(to.head, to.number); err != nil {
				return err
			}
			to.grown, grown = false, true
		}
	}
	if grown {
		r.sequence++
	}
	if len(f.routes) > maxKnown {
		clear(f.routes)
	}
	if len(f.principals) > maxKnown {
		clear(f.principals)
	}
	return nil
}
