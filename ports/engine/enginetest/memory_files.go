package enginetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"maps"
	"slices"

	"berth/domain/stream"
	"berth/ports/engine"
)

type upload struct {
	principal string
	digest    [32]byte
}

type part struct {
	bytes []byte
	busy  bool
	end   int64 // how far the part goes that is on its way
	at    int   // the number of the last part of any upload
}

// Stat says how large an attachment is.
func (e *memoryEngine) Stat(ctx context.Context, digest [32]byte) (int64, error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if whole, found := c.attachments[digest]; found {
		return int64(len(whole)), nil
	}
	return 0, engine.NoAttachment()
}

type open struct{ *bytes.Reader }

func (open) Close() error { return nil }

// Content opens an attachment.
func (e *memoryEngine) Content(ctx context.Context, digest [32]byte) (io.ReadSeekCloser, error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if whole, found := c.attachments[digest]; found {
		return open{bytes.NewReader(whole)}, nil
	}
	return nil, engine.NoAttachment()
}

// Uploaded says how much of an upload is there.
func (e *memoryEngine) Uploaded(ctx context.Context, principal string, digest [32]byte) (int64, error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	if p := c.uploads[upload{principal, digest}]; p != nil {
		return int64(len(p.bytes)), nil
	}
	return 0, nil
}

// Upload takes a part.
func (e *memoryEngine) Upload(ctx context.Context, p engine.Part, from io.Reader) (whole bool, err error) {
	to, whole, err := e.begin(ctx, p)
	if err != nil || whole {
		return whole, err
	}
	came, failed := io.ReadAll(io.LimitReader(from, p.Length)) // no lock is held while a device sends
	if failed == nil && int64(len(came)) < p.Length {
		failed = stream.CutShort(partOf(p), int64(len(came)))
	}
	c, leave, err := e.enter(context.WithoutCancel(ctx))
	if err != nil {
		return false, err
	}
	defer leave()
	to.busy, to.end = false, 0
	to.bytes = append(to.bytes[:p.Offset:p.Offset], came...)
	if failed != nil || !partOf(p).Whole() {
		return false, failed
	}
	return e.finish(c, p, to)
}

func partOf(p engine.Part) stream.Upload {
	return stream.Upload{Offset: p.Offset, Length: p.Length, Size: p.Size}
}

func (e *memoryEngine) begin(ctx context.Context, p engine.Part) (to *part, whole bool, err error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	name := upload{p.Principal, p.Digest}
	_, whole = c.attachments[p.Digest]
	to = c.uploads[name]
	if to == nil {
		to = &part{}
	}
	switch err := e.writable(); {
	case err != nil:
		return nil, false, err
	case !e.m.get(e.tenant).Copy.Commits(p.Generation):
		return nil, false, engine.Fenced()
	case whole:
		delete(c.uploads, name)
		return nil, true, nil
	case to.busy:
		return nil, false, engine.Busy()
	}
	if err := e.m.limits.Judge(partOf(p), int64(len(to.bytes))); err != nil {
		return nil, false, err
	}
	if err := c.crowd(name); err != nil {
		return nil, false, err
	}
	if err := e.m.limits.Admits(c.used+c.pending(name), stream.AttachmentCost(p.Offset+p.Length)); err != nil {
		return nil, false, err
	}
	c.parts++
	to.busy, to.end, to.at = true, p.Offset+p.Length, c.parts
	c.uploads[name] = to
	return to, false, nil
}

// pending is what other uploads take by now, or will with the part that is on its way.
func (c *content) pending(but upload) (bytes int64) {
	for name, p := range c.uploads {
		if name != but {
			bytes += stream.AttachmentCost(max(p.end, int64(len(p.bytes))))
		}
	}
	return bytes
}

// rest has nothing come any more of the parts that are on their way: they were another Engine's.
func (c *content) rest() {
	for name, p := range c.uploads {
		c.uploads[name] = &part{bytes: slices.Clip(p.bytes), at: p.at}
	}
}

// crowd has a principal's upload that lies for longest give way, where there are as many beside the one given as may be.
func (c *content) crowd(but upload) error {
	longest, count := upload{}, 0
	for name, p := range c.uploads {
		if name == but || name.principal != but.principal {
			continue
		}
		count++
		if before := c.uploads[longest]; !p.busy && (before == nil || p.at < before.at) {
			longest = name
		}
	}
	switch {
	case count < stream.MaxUploads:
		return nil
	case c.uploads[longest] == nil:
		return engine.Busy()
	}
	delete(c.uploads, longest)
	return nil
}

func (e *memoryEngine) finish(c *content, p engine.Part, to *part) (whole bool, err error) {
	name := upload{p.Principal, p.Digest}
	if sha256.Sum256(to.bytes) != p.Digest {
		delete(c.uploads, name)
		return false, stream.DigestDiffers()
	}
	if err := e.writable(); err != nil {
		return false, err
	}
	k := e.m.get(e.tenant)
	if !k.Copy.Commits(p.Generation) {
		return false, engine.Fenced()
	}
	if _, before := c.attachments[p.Digest]; !before {
		if err := e.m.limits.Admits(c.used, stream.AttachmentCost(p.Size)); err != nil {
			return false, err
		}
		c.attachments[p.Digest] = to.bytes
		c.used += stream.AttachmentCost(p.Size)
		k.Sequence++
		e.m.tenants[e.tenant] = k
	}
	delete(c.uploads, name)
	return true, e.m.hindered[e.tenant].After
}

// Bury remembers a revocation.
func (e *memoryEngine) Bury(ctx context.Context, t engine.Tombstone) error {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := e.writable(); err != nil {
		return err
	}
	c.buried[t.Principal] = max(c.buried[t.Principal], t.Revision)
	return nil
}

// Buried are the revocations.
func (e *memoryEngine) Buried(ctx context.Context) (out []engine.Tombstone, err error) {
	c, leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, principal := range slices.Sorted(maps.Keys(c.buried)) {
		out = append(out, engine.Tombstone{Principal: principal, Revision: c.buried[principal]})
	}
	return out, nil
}

var errOpen = errors.New("the tenant's Engine is open")
