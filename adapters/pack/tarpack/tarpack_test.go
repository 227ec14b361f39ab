package tarpack_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"berth/adapters/pack/tarpack"
	"berth/domain/fault"
	"berth/ports/pack"
	"berth/ports/pack/packtest"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// zipped returns a gzip of what is written, whether or not that is a whole tar.
func zipped(tb testing.TB, write func(w io.Writer) error) []byte {
	tb.Helper()
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	must(tb, err)
	must(tb, errors.Join(write(zip), zip.Close()))
	return out.Bytes()
}

func forge(tb testing.TB, entries []packtest.Entry) []byte {
	tb.Helper()
	return zipped(tb, func(w io.Writer) error {
		t := tar.NewWriter(w)
		for _, e := range entries {
			h := &tar.Header{Typeflag: tar.TypeReg, Name: e.Name, Size: int64(len(e.Content)), Mode: 0o644}
			if e.Link != "" {
				h.Typeflag, h.Linkname, h.Size = tar.TypeSymlink, e.Link, 0
			}
			if strings.HasSuffix(e.Name, "/") && h.Typeflag == tar.TypeReg {
				h.Typeflag, h.Size, e.Content = tar.TypeDir, 0, "" // there is no other way to write such a name
			}
			if err := t.WriteHeader(h); err != nil {
				return err
			}
			if _, err := io.WriteString(t, e.Content); err != nil {
				return err
			}
		}
		return t.Close()
	})
}

func TestConformance(t *testing.T) {
	t.Parallel()
	packtest.Run(t, func(testing.TB) packtest.Kit { return packtest.Kit{Archiver: tarpack.Archiver{}, Forge: forge} })
}

func refused(tb testing.TB, what string, archive []byte) {
	tb.Helper()
	files, err := tarpack.Archiver{}.Read(archive)
	if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != "package_invalid" || len(files) > 0 {
		tb.Errorf("%s: read %d files (%v)", what, len(files), err)
	}
}

// The tar is the same for ever: what a package's checksum says does not depend on the version of Berth. (The gzip around
// it may change with Go's compressor.)
func TestTarIsFixed(t *testing.T) {
	t.Parallel()
	archive, err := tarpack.Archiver{}.Write([]pack.File{{Name: "b/c", Content: []byte("x")}, {Name: "a", Content: nil}})
	must(t, err)
	zip, err := gzip.NewReader(bytes.NewReader(archive))
	must(t, err)
	if !zip.ModTime.IsZero() || zip.Name != "" || zip.Comment != "" {
		t.Errorf("the gzip says %+v", zip.Header)
	}
	raw, err := io.ReadAll(zip)
	must(t, err)
	sum := sha256.Sum256(raw)
	const want = "2c066e6f8371ecffef011bb7a0b6428c49e982246973d98f496ff72d975b1c46"
	if got := hex.EncodeToString(sum[:]); len(raw) != 2560 || got != want {
		t.Errorf("the tar has %d bytes and the sum %s", len(raw), got)
	}
}

// Everything else that there is in a tar is refused, whatever a tar program would make of it.
func TestRefusesEverythingElse(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]tar.Header{
		"a hard link":      {Typeflag: tar.TypeLink, Name: "a", Linkname: "b"},
		"a device":         {Typeflag: tar.TypeChar, Name: "a", Devmajor: 1, Devminor: 3},
		"a block device":   {Typeflag: tar.TypeBlock, Name: "a"},
		"a pipe":           {Typeflag: tar.TypeFifo, Name: "a"},
		"a time":           {Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, ModTime: time.Unix(1, 0)},
		"an owner":         {Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Uid: 1},
		"an owner's name":  {Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Uname: "root"},
		"set uid":          {Typeflag: tar.TypeReg, Name: "a", Mode: 0o4755},
		"an executable":    {Typeflag: tar.TypeReg, Name: "a", Mode: 0o755},
		"extended headers": {Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Format: tar.FormatPAX, PAXRecords: map[string]string{"BERTH.note": "x"}},
		"GNU's form":       {Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Format: tar.FormatGNU},
		"a global header":  {Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"comment": "x"}},
	} {
		refused(t, name, zipped(t, func(w io.Writer) error {
			out := tar.NewWriter(w)
			return errors.Join(out.WriteHeader(&h), out.Close())
		}))
	}
	entry := func(w io.Writer) *tar.Writer {
		out := tar.NewWriter(w)
		must(t, out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Size: 600, Format: tar.FormatUSTAR}))
		_, err := out.Write(make([]byte, 600))
		must(t, err)
		return out
	}
	whole := func(w io.Writer) error { return entry(w).Close() }
	if _, err := (tarpack.Archiver{}).Read(zipped(t, whole)); err != nil {
		t.Fatalf("the test's own tar is refused: %v", err)
	}
	refused(t, "no end", zipped(t, func(w io.Writer) error { return entry(w).Flush() }))
	refused(t, "more after the end", zipped(t, func(w io.Writer) error {
		_, err := w.Write(append(tarOf(whole), make([]byte, 512)...))
		return err
	}))
	refused(t, "something in the padding", zipped(t, func(w io.Writer) error {
		raw := tarOf(whole)
		raw[512+601] = 1
		_, err := w.Write(raw)
		return err
	}))
	empty := zipped(t, func(io.Writer) error { return nil })
	refused(t, "an empty member after it", append(zipped(t, whole), empty...))
	refused(t, "no tar", zipped(t, func(w io.Writer) error { _, err := io.WriteString(w, "text"); return err }))
	refused(t, "nothing in it", zipped(t, func(io.Writer) error { return nil }))
}

func tarOf(write func(io.Writer) error) []byte {
	var out bytes.Buffer
	if err := write(&out); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// A file that claims to be huge is refused for its claim: nothing is made ready for it.
func TestHugeClaims(t *testing.T) {
	t.Parallel()
	refused(t, "a claim", zipped(t, func(w io.Writer) error {
		out := tar.NewWriter(w)
		return out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Mode: 0o644, Size: 1 << 40})
	}))
}
