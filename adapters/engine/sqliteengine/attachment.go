package sqliteengine

import (
	"context"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"

	"berth/ports/engine"
)

// Stat says how large an attachment is.
func (e *Engine) Stat(ctx context.Context, digest [32]byte) (size int64, err error) {
	err = e.reading.within(ctx, e, func(s *reader) error {
		is, err := s.attachment.one(digest[:])
		switch {
		case err != nil:
			return err
		case is == nil:
			return engine.NoAttachment()
		}
		size = number(is[0])
		return nil
	})
	return size, err
}

// Content opens an attachment.
func (e *Engine) Content(ctx context.Context, digest [32]byte) (io.ReadSeekCloser, error) {
	size, err := e.Stat(ctx, digest)
	if err != nil {
		return nil, err
	}
	var f *os.File
	err = e.onFiles(func() error {
		f, err = os.Open(e.attachment(digest))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, engine.DamagedAttachment(err)
	}
	if err != nil {
		return nil, e.fault(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != size {
		return nil, errors.Join(engine.DamagedAttachment(err), f.Close())
	}
	return f, nil
}

func (e *Engine) attachment(digest [32]byte) string {
	return e.path(attachmentsDir, hex.EncodeToString(digest[:]))
}

// tidy removes what an earlier process left between a file's renaming and its commit, and uploads that nobody went on
// with. The Engine is nobody's yet.
func (e *Engine) tidy() error {
	named, err := os.ReadDir(e.path(attachmentsDir))
	if err != nil {
		return lost(e.tenant, e.path(attachmentsDir), err)
	}
	if len(named) > 0 {
		kept, err := e.kept()
		if err != nil {
			return err
		}
		for _, file := range named {
			if !kept[file.Name()] {
				if err := os.Remove(e.path(attachmentsDir, file.Name())); err != nil {
					return err
				}
			}
		}
	}
	_, err = e.pending(true)
	return err
}

// kept names the attachments that there are.
func (e *Engine) kept() (map[string]bool, error) {
	out := map[string]bool{}
	s := e.file.allAttachments
	err := s.each(func(row []driver.Value) bool { out[hex.EncodeToString(blob(row[0]))] = true; return true })
	return out, err
}
