package sqliteengine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"time"

	"berth/domain/stream"
	"berth/ports/engine"
)

// uploadLife is how long an upload may lie that nobody goes on with, before it makes room where there is none, and at the
// next opening.
const uploadLife = 24 * time.Hour

// copyBuffer is what an upload holds of memory.
const copyBuffer = 64 << 10

// Uploaded says how much of an upload is there.
func (e *Engine) Uploaded(ctx context.Context, principal string, digest [32]byte) (int64, error) {
	if err := e.ask(ctx); err != nil {
		return 0, err
	}
	info, err := os.Stat(e.path(uploadsDir, uploadOf(principal, digest)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, e.fault(err)
	}
	return info.Size(), nil
}

// uploadOf names the file of an upload: a principal's own, whatever its id consists of.
func uploadOf(principal string, digest [32]byte) string {
	sum := sha256.Sum256(append(digest[:], principal...))
	return hex.EncodeToString(sum[:])
}

// Upload takes a part of an attachment.
func (e *Engine) Upload(ctx context.Context, p engine.Part, from io.Reader) (whole bool, err error) {
	u := stream.Upload{Offset: p.Offset, Length: p.Length, Size: p.Size}
	name := uploadOf(p.Principal, p.Digest)
	leave, err := e.arrive(name)
	if err != nil {
		return false, err
	}
	defer leave()
	if whole, err := e.permits(ctx, p, u, name); err != nil || whole {
		return whole, err
	}
	file, err := os.OpenFile(e.path(uploadsDir, name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return false, e.fault(err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sum, err := e.receive(file, u, from)
	if err != nil || !u.Whole() {
		return false, err
	}
	return e.whole(ctx, p, file, sum)
}

// arrive lets one part of an upload in at a time.
func (e *Engine) arrive(name string) (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, engine.Closed()
	case e.parts[name]:
		return nil, engine.Busy()
	}
	e.parts[name] = true
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.parts, name)
	}, nil
}

// permits judges a part before anything of it is read, and says whether the attachment is there already.
func (e *Engine) permits(ctx context.Context, p engine.Part, u stream.Upload, name string) (whole bool, err error) {
	have, err := e.Uploaded(ctx, p.Principal, p.Digest)
	if err != nil {
		return false, err
	}
	var used int64
	err = e.write(ctx, func(r *row) error {
		if !r.Commits(p.Generation) {
			return engine.Fenced()
		}
		is, err := e.file.getAttachment.one(p.Digest[:])
		whole, used = is != nil, r.used
		return err
	})
	switch {
	case err != nil:
		return false, err
	case whole:
		_ = e.forget(e.path(uploadsDir, name))
		return true, nil
	}
	if err := e.disk.limits.Judge(u, have); err != nil {
		return false, err
	}
	return false, e.room(used, name, u)
}

// room says whether there is room for a part beside everything else, unfinished uploads included.
func (e *Engine) room(used int64, name string, u stream.Upload) error {
	for _, old := range []bool{false, true} { // what is old makes room only where it must
		pending, err := e.pending(old)
		if err != nil {
			return e.fault(err)
		}
		delete(pending, name)
		bytes := used
		for _, size := range pending {
			bytes += stream.AttachmentCost(size)
		}
		refused := stream.CheckUploads(len(pending))
		if refused == nil {
			refused = e.disk.limits.Admits(bytes, stream.AttachmentCost(u.Offset+u.Length))
		}
		if refused == nil {
			return nil
		}
		if old {
			return refused
		}
	}
	return nil
}

// pending is what each unfinished upload takes, after those were removed that lie for too long, if they are to be.
func (e *Engine) pending(removing bool) (map[string]int64, error) {
	entries, err := os.ReadDir(e.path(uploadsDir))
	if err != nil {
		return nil, lost(e.tenant, err)
	}
	out := map[string]int64{}
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is whole by now
		}
		if err != nil {
			return nil, err
		}
		if removing && time.Since(info.ModTime()) > uploadLife && !e.arriving(entry.Name()) {
			if err := os.Remove(e.path(uploadsDir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			continue
		}
		out[entry.Name()] = info.Size()
	}
	return out, nil
}

func (e *Engine) arriving(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.parts[name]
}

// receive writes a part behind what is there. What came before an error is durable, too. The hash is that of the whole
// where the part was.
func (e *Engine) receive(file *os.File, u stream.Upload, from io.Reader) (hash.Hash, error) {
	if err := file.Truncate(u.Offset); err != nil {
		return nil, e.fault(err)
	}
	if _, err := file.Seek(u.Offset, io.SeekStart); err != nil {
		return nil, e.fault(err)
	}
	sum := sha256.New()
	to := &sink{file: file, also: sum}
	came, err := io.CopyBuffer(to, onlyReader{io.LimitReader(from, u.Length)}, make([]byte, copyBuffer))
	switch {
	case to.err != nil:
		err = e.fault(to.err)
	case err == nil && came < u.Length:
		err = stream.CutShort(u, came)
	}
	if failed := file.Sync(); failed != nil && err == nil {
		err = e.fault(failed)
	}
	return sum, err
}

// sink tells the errors of writing from those of reading.
type sink struct {
	file *os.File
	also io.Writer
	err  error
}

func (s *sink) Write(b []byte) (int, error) {
	n, err := s.file.Write(b)
	_, _ = s.also.Write(b[:n])
	s.err = err
	return n, err
}

// onlyReader hides what else a reader can, so that the buffer bounds what is held.
type onlyReader struct{ io.Reader }

// whole proves the content and puts the file where attachments are, in a write as of the Engine: the file has its name
// before the commit, so that no attachment is told of that is not there.
func (e *Engine) whole(ctx context.Context, p engine.Part, file *os.File, sum hash.Hash) (bool, error) {
	if p.Offset > 0 {
		sum.Reset()
		if _, err := io.Copy(sum, io.NewSectionReader(file, 0, p.Size)); err != nil {
			return false, e.fault(err)
		}
	}
	from, to := file.Name(), e.attachment(p.Digest)
	if !bytes.Equal(sum.Sum(nil), p.Digest[:]) {
		return false, errors.Join(stream.DigestDiffers(), os.Remove(from))
	}
	err := e.write(context.WithoutCancel(ctx), func(r *row) error {
		if !r.Commits(p.Generation) {
			return engine.Fenced()
		}
		if is, err := e.file.getAttachment.one(p.Digest[:]); err != nil || is != nil {
			return err // another principal's was whole first
		}
		if refused := e.disk.limits.Admits(r.used, stream.AttachmentCost(p.Size)); refused != nil {
			return refused
		}
		if _, err := e.file.addAttachment.exec(p.Digest[:], p.Size); err != nil {
			return err
		}
		r.attachments++
		r.used += stream.AttachmentCost(p.Size)
		r.sequence++
		return e.name(from, to)
	})
	if err != nil {
		return false, err // the upload is still there, and what was named so far is its own name, too
	}
	_ = e.forget(from) // it is whole, whatever becomes of its other name
	return true, nil
}

// name gives a file its second name, in the place of what an earlier try may have left there.
func (e *Engine) name(from, to string) error {
	if err := e.forget(to); err != nil {
		return err
	}
	if err := os.Link(from, to); err != nil {
		return err
	}
	return syncDir(e.path(attachmentsDir))
}

func (e *Engine) forget(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return e.fault(err)
	}
	return nil
}
