package relayload

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Follower is a connection that is subscribed to a route on which lanes publish.
type Follower struct {
	socket *Socket
	phase  *Phase
	lanes  map[string]*Lane // by the names that their messages' ids begin with
	seq    int64
	took   *hdrhistogram.Histogram // microseconds from when a message was sent to when it came
	err    error
	ended  chan struct{}
}

// Follow subscribes to the route of a handle from its end on, and reads until the connection is closed.
func Follow(s *Socket, handle string, lanes map[string]*Lane, p *Phase) (*Follower, error) {
	head, err := Subscribe(s, handle, 0)
	if err == nil && head != 0 {
		err = fmt.Errorf("the route has %d messages already", head)
	}
	if err != nil {
		return nil, err
	}
	f := &Follower{socket: s, phase: p, lanes: lanes, took: histogram(), ended: make(chan struct{})}
	go f.read()
	return f, nil
}

// Subscribe subscribes to the route of a handle, and returns the sequence of its last message.
func Subscribe(s *Socket, handle string, after int64) (head int64, err error) {
	s.Add(Text, fmt.Appendf(nil, `{"op":"subscribe","handle":%q,"after":%d}`, handle, after))
	if err := s.Flush(); err != nil {
		return 0, err
	}
	frame, err := s.Next()
	if err != nil {
		return 0, err
	}
	if !hasOp(frame, "subscribed") {
		return 0, fmt.Errorf("this is no answer to a subscription: %s", frame)
	}
	if !bytes.Contains(frame, []byte(`"seq":`)) {
		return 0, nil
	}
	return sequence(frame)
}

// sequence is that of a frame.
func sequence(frame []byte) (int64, error) {
	_, rest, found := bytes.Cut(frame, []byte(`"seq":`))
	end := bytes.IndexAny(rest, ",}")
	if !found || end < 0 {
		return 0, fmt.Errorf("there is no sequence in %s", frame)
	}
	return strconv.ParseInt(string(rest[:end]), 10, 64)
}

func (f *Follower) read() {
	defer close(f.ended)
	for {
		frame, err := f.socket.Next()
		if err != nil {
			return // it was closed, or Missing says what did not come
		}
		if f.err = f.message(frame); f.err != nil {
			return
		}
	}
}

func (f *Follower) message(frame []byte) error {
	if !hasOp(frame, "message") {
		return fmt.Errorf("this is no message: %s", frame)
	}
	seq, err := sequence(frame)
	if err != nil {
		return err
	}
	if seq != f.seq+1 {
		return fmt.Errorf("after message %d comes %d", f.seq, seq)
	}
	f.seq = seq
	name, n, err := published(frame)
	if err != nil {
		return err
	}
	l := f.lanes[string(name)]
	if l == nil {
		return fmt.Errorf("nobody here published %s", frame)
	}
	if f.phase.now.Load() == measuring {
		record(f.took, time.Since(time.Unix(0, l.sent[n%ring].Load())))
	}
	return nil
}

// Close ends it, and says what was wrong with what came.
func (f *Follower) Close() error {
	f.socket.Close()
	<-f.ended
	return f.err
}

// hasOp says whether a frame of the server is of an operation, which it names first.
func hasOp(frame []byte, op string) bool { return bytes.HasPrefix(frame, []byte(`{"op":"`+op+`"`)) }
