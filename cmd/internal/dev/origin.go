package dev

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"berth/adapters/apiclient"
	"berth/cmd/internal/secretfile"
)

// origin is where the region's devices connect: a balancer, as one stands before the nodes of a region, which gives each
// connection to a node that answers. Where a region's origin is can not be changed later, so that its port is kept.
type origin struct {
	listener net.Listener
	to       []string // host:port of each node's listener of devices
	next     atomic.Uint64
	linger   time.Duration
}

const originLinger = 5 * time.Second

const originFile = "origin"

// keptPort is the port of the runs before, which the file of that name says, or the one asked for.
func (p *place) keptPort(file string, asked int) (int, error) {
	text, err := os.ReadFile(p.path(file))
	if errors.Is(err, fs.ErrNotExist) {
		return asked, nil
	}
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}

// keepOrigin remembers the port.
func (p *place) keepOrigin() error { return p.keepPort(originFile, p.origin.listener) }

func (p *place) keepPort(file string, l net.Listener) error {
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	return secretfile.Write(p.path(file), []byte(port+"\n"))
}

// matchOrigin listens where the region that there is already says, should that be elsewhere.
func (r *running) matchOrigin(ctx context.Context, s *seeds) error {
	all, err := s.api.Regions(ctx, apiclient.Page{})
	if err != nil {
		return err
	}
	for _, known := range all.Regions {
		if known.ID != region {
			continue
		}
		s.origin = known.Origin
		if known.Origin == r.originURL() {
			return r.keepOrigin()
		}
		return r.moveOrigin(ctx, known.Origin)
	}
	return errors.New("the region is not there")
}

func (r *running) moveOrigin(ctx context.Context, to string) error {
	u, err := url.Parse(to)
	if err != nil {
		return err
	}
	var open net.ListenConfig
	l, err := open.Listen(ctx, "tcp", "127.0.0.1:"+u.Port())
	if err != nil {
		r.notes = append(r.notes, fmt.Sprintf("devices can not connect: their origin is %s since the first run, and that port is taken", to))
		return nil //nolint:nilerr // it is a note
	}
	_ = r.origin.listener.Close()
	r.origin.listener = l
	return r.keepOrigin()
}

func (p *place) originURL() string { return named(p.origin.listener.Addr().String()) }

// balance gives connections to nodes until the context ends, and then waits for them.
func (o *origin) balance(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = o.listener.Close() })
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	for {
		c, err := o.listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("the origin: %w", err)
		}
		all.Go(func() { o.carry(ctx, c) })
	}
}

func (o *origin) carry(ctx context.Context, near net.Conn) {
	defer near.Close()
	far := o.dial(ctx)
	if far == nil {
		return // as where nobody listens
	}
	defer far.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = near.Close(), far.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { pour(far, near) })
	pour(near, far)
	_ = near.SetReadDeadline(time.Now().Add(o.linger)) // a node that ended is told nothing more; the device has so long to end, too
	both.Wait()
}

const dialBound = time.Second

// dial reaches a node that answers, each in its turn.
func (o *origin) dial(ctx context.Context) net.Conn {
	first := o.next.Add(1)
	dialer := net.Dialer{Timeout: dialBound}
	for i := range uint64(len(o.to)) {
		if c, err := dialer.DialContext(ctx, "tcp", o.to[(first+i)%uint64(len(o.to))]); err == nil {
			return c
		}
	}
	return nil
}

// pour carries one direction to its end, and tells the other side of that.
func pour(to, from net.Conn) {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = to.Close(), from.Close()
		return
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}
