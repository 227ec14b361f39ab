package relay

import (
	"context"
	"io"
	"sync"

	"berth/domain/fault"
	"berth/ports/engine"
)

// Files is a device's way to its tenant's attachments. Every call asks the gate. It is closed after use.
type Files struct {
	hub    *hub
	device Device
	once   sync.Once
}

// Upload is a part of an attachment that a device uploads.
type Upload struct {
	Digest [32]byte
	Offset int64
	Length int64
	Size   int64 // of the whole
}

// Files opens a device's way to attachments. Faults: those of Enter.
func (n *Node) Files(ctx context.Context, d Device) (*Files, error) {
	f, err := n.rooms.files(ctx, d)
	if err != nil {
		return nil, n.refused(n.later(err))
	}
	return f, nil
}

func (r *rooms) files(ctx context.Context, d Device) (*Files, error) {
	if err := r.stands(d); err != nil {
		return nil, err
	}
	m, h, err := r.enter(ctx, d.Tenant)
	if err != nil {
		return nil, err
	}
	m.greet(ctx, d)
	f := &Files{hub: h, device: d}
	if err := f.reads(); err != nil {
		r.leave(m)
		return nil, err
	}
	return f, nil
}

// Permitted says why the device may not go on with what it began, if so. Faults: those of Enter.
func (f *Files) Permitted() error { return f.reads() }

func (f *Files) reads() error { return f.may(reading()).err }

// may says whether the device may use its tenant, by a token that counts still: a transfer may take longer than that does.
func (f *Files) may(u use) admission {
	if err := f.hub.node.stands(f.device); err != nil {
		return admission{err: err}
	}
	return f.hub.node.state.device(f.device, u)
}

// Stat says how large an attachment is. Fault: NotFound attachment_missing.
func (f *Files) Stat(ctx context.Context, digest [32]byte) (int64, error) {
	if err := f.reads(); err != nil {
		return 0, f.refused(err)
	}
	size, err := f.hub.engine.Stat(ctx, digest)
	return size, f.refused(err)
}

// Content opens an attachment. Reading it ends when the device may not read any more.
// Faults: NotFound attachment_missing; Internal attachment_damaged.
func (f *Files) Content(ctx context.Context, digest [32]byte) (io.ReadSeekCloser, error) {
	if err := f.reads(); err != nil {
		return nil, f.refused(err)
	}
	content, err := f.hub.engine.Content(ctx, digest)
	if err != nil {
		return nil, f.refused(err)
	}
	return &watched{content, f}, nil
}

// watched is content that is read while the device may read it.
type watched struct {
	io.ReadSeekCloser
	files *Files
}

func (w *watched) Read(p []byte) (int, error) {
	if err := w.files.reads(); err != nil {
		return 0, err
	}
	return w.ReadSeekCloser.Read(p)
}

// Uploaded says how much the device has uploaded of an attachment that is not whole yet.
func (f *Files) Uploaded(ctx context.Context, digest [32]byte) (int64, error) {
	if err := f.reads(); err != nil {
		return 0, f.refused(err)
	}
	n, err := f.hub.engine.Uploaded(ctx, f.device.Principal, digest)
	return n, f.refused(err)
}

// Upload takes a part of an attachment, and says whether it is whole by then: durable, and checked again as P8 has it.
// Faults: those of engine.Attachments. An error of reading from is returned as it is.
func (f *Files) Upload(ctx context.Context, u Upload, from io.Reader) (whole bool, err error) {
	at := f.may(writing())
	if at.err != nil {
		return false, f.refused(at.err)
	}
	whole, err = f.hub.engine.Upload(ctx, engine.Part{
		Generation: at.generation, Principal: f.device.Principal, Digest: u.Digest, Offset: u.Offset, Length: u.Length, Size: u.Size,
	}, &permitted{from, f, at.generation})
	if err == nil {
		err = f.acknowledges(at.generation)
	}
	if err != nil {
		return false, f.refused(err)
	}
	return whole, nil
}

func (f *Files) acknowledges(generation int64) error {
	return f.may(acknowledging(generation)).err
}

// permitted is an upload that goes on while the device may write.
type permitted struct {
	io.Reader
	files      *Files
	generation int64
}

func (p *permitted) Read(b []byte) (int, error) {
	if err := p.files.acknowledges(p.generation); err != nil {
		return 0, err
	}
	return p.Reader.Read(b)
}

func (f *Files) refused(err error) error {
	if _, is := fault.As(err); !is { // there is none, or it is of what the device sends, and nobody refused anything
		return err
	}
	f.hub.failed(err)
	return f.hub.node.refused(err)
}

// Close ends it.
func (f *Files) Close() { f.once.Do(func() { f.hub.node.rooms.leave(f.hub.room) }) }
