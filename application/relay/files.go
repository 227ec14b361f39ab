package relay

import (
	"context"
	"io"
)

// Files is a device's way to its tenant's attachments. Every call asks the gate. It is closed after use.
type Files struct{}

// Upload is a part of an attachment that a device uploads.
type Upload struct {
	Digest [32]byte
	Offset int64
	Length int64
	Size   int64 // of the whole
}

// Files opens a device's way to attachments. Faults: those of Enter.
func (n *Node) Files(ctx context.Context, d Device) (*Files, error) { return nil, errStopping() }

// Stat says how large an attachment is. Fault: NotFound attachment_missing.
func (f *Files) Stat(ctx context.Context, digest [32]byte) (int64, error) { return 0, errStopping() }

// Content opens an attachment. What is read of it ends when the device may not read any more.
// Fault: NotFound attachment_missing.
func (f *Files) Content(ctx context.Context, digest [32]byte) (io.ReadSeekCloser, error) {
	return nil, errStopping()
}

// Uploaded says how much the device has uploaded of an attachment that is not whole yet.
func (f *Files) Uploaded(ctx context.Context, digest [32]byte) (int64, error) { return 0, errStopping() }

// Upload takes a part of an attachment, and says whether it is whole by then: durable, and acknowledged as P8 has it.
// Faults: those of engine.Attachments.
func (f *Files) Upload(ctx context.Context, u Upload, from io.Reader) (whole bool, err error) {
	return false, errStopping()
}

// Close ends it.
func (f *Files) Close() {}
