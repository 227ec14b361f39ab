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

	"berth/domain/stream"
	"berth/ports/engine"
)

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

// uploadOf names the file of an upload: a principal's own, whatever its id consists of. All of a principal's begin alike.
func uploadOf(principal string, digest [32]byte) string {
	sum := sha256.Sum256(append(digest[:], principal...))
	return uploader(principal) + hex.EncodeToString(sum[:])
}

func uploader(principal string) string {
	sum := sha256.Sum256([]byte(principal))
	return hex.EncodeToString(sum[:16]) + "-"
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
	file, err := e.opens(name, u.Offset)
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

// opens opens an upload's file at the place where a part begins.
func (e *Engine) opens(name string, at int64) (file *os.File, err error) {
	err = e.onFiles(func() error {
		if file, err = os.OpenFile(e.path(uploadsDir, name), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
			return err
		}
		if err = file.Truncate(at); err == nil {
			_, err = file.Seek(at, io.SeekStart)
		}
		if err != nil {
			return errors.Join(err, file.Close())
		}
		return nil
	})
	return file, err
}

// arrive lets one part of an upload in at a time.
func (e *Engine) arrive(name string) (leave func(), err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, engine.Closed()
	case e.arrivingOf(name):
		return nil, engine.Busy()
	}
	e.parts[name] = 0
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
		_ = e.onFiles(func() error { return e.forget(e.path(uploadsDir, name)) })
		return true, nil
	}
	if err := e.disk.limits.Judge(u, have); err != nil {
		return false, err
	}
	return false, e.onFiles(func() error { return e.room(used, uploader(p.Principal), name, u) })
}

// receive writes a part behind what is there. What came before an error is durable, too. The hash is that of the whole
// where the part was.
func (e *Engine) receive(file *os.File, u stream.Upload, from io.Reader) (hash.Hash, error) {
	sum := sha256.New()
	to := &sink{engine: e, file: file, also: sum}
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

// sink tells the errors of writing from those of reading. It writes no more once the Engine is closed, after which the file
// may be another one's upload, or whole.
type sink struct {
	engine *Engine
	file   *os.File
	also   io.Writer
	err    error
}

func (s *sink) Write(b []byte) (n int, err error) {
	s.err = s.engine.onFiles(func() error {
		n, err = s.file.Write(b)
		return err
	})
	_, _ = s.also.Write(b[:n])
	return n, s.err
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
		return false, errors.Join(stream.DigestDiffers(), e.onFiles(func() error { return e.forget(from) }))
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
	_ = e.onFiles(func() error { return e.forget(from) }) // it is whole, whatever becomes of its other name
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
