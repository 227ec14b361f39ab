package engine

import (
	"context"
	"io"
	"time"
)

// Engines opens tenants' Engines (R1).
type Engines interface {
	// Open opens the Engine of a tenant of which there is a copy; it makes none. It is closed before it is opened again, by
	// Close or since Tenants.Change took the copy away or put another in its place.
	// Faults: Unavailable copy_missing, engine_unavailable, request_ended; Internal engine_damaged, engine_failed.
	Open(ctx context.Context, tenant string) (Engine, error)
}

// Engine is one tenant's Engine while it is open. What goes wrong with it concerns no other tenant. All methods are safe
// for concurrent use.
//
// Every write carries the generation at which it was permitted, and is committed only in a transaction that reads the
// copy's stamp and fence and finds placement.Copy.Commits (P3, P16); after Tenants.Change set a fence none is. Further
// faults of each: those of Tenants; Unavailable copy_fenced where the copy does not let the write in; Exhausted
// tenant_quota_exceeded, disk_full, engine_busy where too much waits.
type Engine interface {
	Log
	Attachments
	Tombstones
	// Usage is what the tenant takes on the disk, and its last committed sequence.
	Usage(ctx context.Context) (Usage, error)
	// Close ends what waits, with Unavailable engine_closed, and lets go of every file. It is not called by a done.
	Close() error
}

// Log is a tenant's routes and their messages.
type Log interface {
	// Append has a message appended to its route, together with whatever others wait, and calls done once: when it is
	// durable, with its sequence in the route, one above the last; or with why it is not. An id that its principal used on
	// this route before, with the same body, is answered with the sequence of then; with another body it is Conflict
	// publish_id_reused. done is called in the order of sequences, on a goroutine of the Engine that must not be held up.
	// The body belongs to the Engine until then. Further faults: Invalid publish_id_invalid, body_missing, body_too_large;
	// Exhausted route_exhausted.
	Append(w Write, done func(Appended, error))
	// Read returns messages of a route after a sequence, up to and with another, in ascending order: as many as fit into
	// the bytes given, and one at least where there is any.
	Read(ctx context.Context, r Range) ([]Message, error)
	// Head is the sequence of the route's last message; 0 where there is none.
	Head(ctx context.Context, route string) (int64, error)
}

// Write is a message to be appended.
type Write struct {
	Generation int64
	Route      string
	Principal  string
	ID         string // the device's own; counts within principal and route
	At         time.Time
	Body       []byte // JSON text
}

// Appended is where a message is.
type Appended struct {
	Seq    int64
	At     time.Time
	Before bool // it was there already
}

// Range is what to read of a route.
type Range struct {
	Route       string
	After, UpTo int64
	Bytes       int // of messages, by their Size
}

// Message is a message of a route.
type Message struct {
	Route string
	Seq   int64
	ID    string
	From  string // principal
	At    time.Time
	Body  []byte // JSON text, as it was published
}

// Size is about what the message takes in memory, in bytes: of small ones that is more than what they say.
func (m Message) Size() int {
	const around = 128
	return around + len(m.Route) + len(m.ID) + len(m.From) + len(m.Body)
}

// Attachments is a tenant's files by the SHA-256 of their content.
type Attachments interface {
	// Stat says how large an attachment is. Fault: NotFound attachment_missing.
	Stat(ctx context.Context, digest [32]byte) (size int64, err error)
	// Content opens an attachment. Faults: NotFound attachment_missing; Internal attachment_damaged.
	Content(ctx context.Context, digest [32]byte) (io.ReadSeekCloser, error)
	// Uploaded says how much of an attachment a principal has uploaded of one that is not whole yet; 0 for nothing.
	Uploaded(ctx context.Context, principal string, digest [32]byte) (int64, error)
	// Upload takes a part of an attachment and, once that is all, makes it durable under its digest and whole: in a write as
	// of the Engine. An attachment that is there is whole at once. The bytes that came before an error stay for the next part;
	// a part at 0 begins anew. Of a principal's uploads stream.MaxUploads are kept, and more give way to the latest; room is
	// kept for a part while it is on its way. Faults: Conflict upload_offset where another part does not begin where the last ended; Invalid
	// attachment_digest_differs (nothing is left of the upload then), attachment_size_differs, also of a part that ends early,
	// attachment_too_large; Exhausted engine_busy while another part of the same upload is on its way; those of reading from.
	Upload(ctx context.Context, p Part, from io.Reader) (whole bool, err error)
}

// Part is a part of an upload.
type Part struct {
	Generation int64
	Principal  string
	Digest     [32]byte
	Offset     int64
	Length     int64
	Size       int64 // of the whole
}

// Tombstones are the revocations that a node has seen committed and remembers (D4).
type Tombstones interface {
	// Bury remembers that a principal was revoked at a revision, the highest where it is told of several. It needs no permit
	// and does not raise the copy's sequence, since it goes into a fenced copy too, of which a manifest may be known by then.
	Bury(ctx context.Context, t Tombstone) error
	// Buried are all of them, by principal.
	Buried(ctx context.Context) ([]Tombstone, error)
}

// Tombstone is one revoked principal.
type Tombstone struct {
	Principal string
	Revision  int64
}

// Usage is what a tenant takes.
type Usage struct {
	Messages    int64
	Attachments int64
	Bytes       int64 // of both, as the quota counts them
	Sequence    int64 // of the last commit of messages or an attachment; grows with every one
}
