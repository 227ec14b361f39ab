// Package tarpack keeps packages as gzipped tar files in the USTAR form, which every tar reads.
package tarpack

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"

	"berth/ports/pack"
)

// Archiver is a pack.Archiver. Its zero value is ready.
type Archiver struct{}

var _ pack.Archiver = Archiver{}

const (
	block = 512 // bytes of which a tar is made
	// maxTar is the longest tar: each file has a header and ends within a block, and two blocks end the archive.
	maxTar = pack.MaxTotal + pack.MaxFiles*2*block + 2*block
	mode   = 0o644
)

// Write returns a gzipped tar without a time, an owner or a name of its own.
func (Archiver) Write(files []pack.File) ([]byte, error) {
	sorted, err := pack.Check(files)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	if err := errors.Join(bundle(zip, sorted), zip.Close()); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// bundle writes the one tar that there is of these files.
func bundle(w io.Writer, files []pack.File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Content)), Mode: mode, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(head); err != nil {
			return err
		}
		if _, err := t.Write(f.Content); err != nil {
			return err
		}
	}
	return t.Close()
}

// Read takes an archive only where bundling what was read gives the same tar again. That leaves nothing to interpret:
// links, directories, devices, sparse files, extended headers, another order and whatever else there is in a tar are all
// something else than what Write makes.
func (Archiver) Read(archive []byte) ([]pack.File, error) {
	raw, err := unzip(archive, maxTar)
	if err != nil {
		return nil, pack.Damaged(err)
	}
	return parse(raw)
}

// parse returns the files of a tar that bundle could have written.
func parse(raw []byte) ([]pack.File, error) {
	files, err := list(raw)
	if err != nil {
		return nil, pack.Damaged(err)
	}
	sorted, err := pack.Check(files)
	if err != nil {
		return nil, pack.Damaged(err)
	}
	rest := expected{raw}
	if err := bundle(&rest, sorted); err != nil || len(rest.left) > 0 {
		return nil, pack.Damaged(errors.Join(err, errors.New("this is not the tar of these files")))
	}
	return sorted, nil
}

// unzip returns what is in exactly one gzip member, and stops where that is more than most bytes.
func unzip(archive []byte, most int64) ([]byte, error) {
	from := bytes.NewReader(archive)
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, err
	}
	zip.Multistream(false)
	raw, err := io.ReadAll(io.LimitReader(zip, most+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(raw)) > most:
		return nil, errors.New("more than a package holds")
	case from.Len() > 0:
		return nil, errors.New("something follows the end")
	}
	return raw, nil
}

// list returns the regular files of a tar. Their contents are copies.
func list(raw []byte) ([]pack.File, error) {
	var files []pack.File
	t := tar.NewReader(bytes.NewReader(raw))
	for {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		// A sparse file says that it is longer than what the tar holds of it.
		if head.Typeflag != tar.TypeReg || head.Size > int64(len(raw)) || len(files) == pack.MaxFiles {
			return nil, errors.New("an entry that no package has")
		}
		content := make([]byte, head.Size)
		if _, err := io.ReadFull(t, content); err != nil {
			return nil, err
		}
		files = append(files, pack.File{Name: head.Name, Content: content})
	}
}

// expected is a writer that takes nothing but what is left.
type expected struct{ left []byte }

func (e *expected) Write(p []byte) (int, error) {
	if !bytes.HasPrefix(e.left, p) {
		return 0, errors.New("another byte was expected")
	}
	e.left = e.left[len(p):]
	return len(p), nil
}
