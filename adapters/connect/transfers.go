package connect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"berth/application/relay"
	"berth/domain/fault"
)

// transfers are the attachments that are on their way.
type transfers struct {
	limits *Limits

	mu      sync.Mutex
	running map[*transfer]struct{}
	devices map[deviceKey]int
}

// transfer is one.
type transfer struct {
	all    *transfers
	device deviceKey
	cancel context.CancelFunc
	rc     *http.ResponseController
}

func newTransfers(l *Limits) *transfers {
	return &transfers{limits: l, running: map[*transfer]struct{}{}, devices: map[deviceKey]int{}}
}

// begin counts a transfer; its context ends when it is cut. Fault: Exhausted too_many_transfers.
func (t *transfers) begin(ctx context.Context, d relay.Device, w http.ResponseWriter) (context.Context, *transfer, error) {
	key := deviceKey{d.Tenant, d.Principal}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.running) >= t.limits.Transfers || t.devices[key] >= t.limits.TransfersPerDevice {
		return ctx, nil, fault.New(fault.Exhausted, "too_many_transfers", "too many attachments are on their way").
			Curable("wait until one of them is through")
	}
	ctx, cancel := context.WithCancel(ctx)
	x := &transfer{t, key, cancel, http.NewResponseController(w)}
	t.running[x] = struct{}{}
	t.devices[key]++
	return ctx, x, nil
}

func (x *transfer) end() {
	x.cancel()
	x.all.mu.Lock()
	defer x.all.mu.Unlock()
	delete(x.all.running, x)
	if x.all.devices[x.device]--; x.all.devices[x.device] == 0 {
		delete(x.all.devices, x.device)
	}
}

func (t *transfers) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.running)
}

// cut ends all transfers where they are.
func (t *transfers) cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for x := range t.running {
		x.cut()
	}
}

func (x *transfer) cut() {
	x.cancel()
	_ = x.rc.SetReadDeadline(time.Now()) // what has no deadline has no connection
	_ = x.rc.SetWriteDeadline(time.Now())
}

// attendEvery is how long a transfer that stands still outlives what permitted it.
const attendEvery = 50 * time.Millisecond

// attend cuts a transfer where its device may not go on (A5): one that neither sends nor reads is asked by nobody else. It
// returns with the transfer's end.
func (x *transfer) attend(ctx context.Context, f Files) {
	look := time.NewTicker(attendEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			if f.Permitted() != nil {
				x.cut()
				return
			}
		}
	}
}

// upload is a body that must go on moving, and be through in a time that depends on its size.
type upload struct {
	io.ReadCloser
	x     *transfer
	ctx   context.Context //nolint:containedctx // of the request whose body this is
	until time.Time
}

func (x *transfer) upload(ctx context.Context, r *http.Request) *upload {
	l := x.all.limits
	length := min(max(r.ContentLength, 0), l.Attachment)
	whole := time.Duration(float64(length) / float64(l.UploadLeast) * float64(time.Second))
	return &upload{r.Body, x, ctx, time.Now().Add(l.TransferStall + whole)}
}

// Read is io.Reader's.
func (u *upload) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	by := time.Now().Add(u.x.all.limits.TransferStall)
	if by.After(u.until) {
		by = u.until
	}
	_ = u.x.rc.SetReadDeadline(by) // a dead connection says so below
	n, err := u.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = u.x.rc.SetReadDeadline(time.Time{}) // net/http goes on reading, to see a client that leaves
	}
	return n, err
}

// download is an answer that must go on moving.
type download struct {
	http.ResponseWriter
	x   *transfer
	ctx context.Context //nolint:containedctx // of the request that is answered
}

// Unwrap is for http.ResponseController.
func (d *download) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d *download) extend() {
	_ = d.x.rc.SetWriteDeadline(time.Now().Add(d.x.all.limits.TransferStall)) // a dead connection says so below
}

// WriteHeader is http.ResponseWriter's.
func (d *download) WriteHeader(status int) {
	d.extend()
	d.ResponseWriter.WriteHeader(status)
}

// Write is http.ResponseWriter's.
func (d *download) Write(p []byte) (int, error) {
	if err := d.ctx.Err(); err != nil {
		return 0, err
	}
	d.extend()
	return d.ResponseWriter.Write(p)
}
