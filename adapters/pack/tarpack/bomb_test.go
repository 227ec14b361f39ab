package tarpack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
)

// A small archive that unpacks to a great deal is unpacked no further than its bound, which lies far before its end.
func TestBombsAreNotUnpacked(t *testing.T) {
	t.Parallel()
	const pieces, most = 4096, 1 << 20 // of a MiB each
	archive := bomb(t, pieces)
	if len(archive) > 1<<23 {
		t.Fatalf("the bomb has %d bytes", len(archive))
	}
	raw, err := unzip(archive, most)
	if err == nil || errors.Is(err, io.ErrUnexpectedEOF) || len(raw) > 0 {
		t.Fatalf("unpacked %d bytes, and stopped with %v", len(raw), err)
	}
	if maxTar > 1<<29 {
		t.Fatalf("what Read unpacks at most is %d bytes", maxTar)
	}
}

// bomb is a gzip of zeros whose end is cut off, so that whoever comes so far notices. Each MiB is the same piece.
func bomb(tb testing.TB, pieces int) []byte {
	tb.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	var piece []byte
	for range 2 { // the second has zeros before it, as each that follows has
		before := out.Len()
		_, err := zip.Write(make([]byte, 1<<20))
		if err := errors.Join(err, zip.Flush()); err != nil {
			tb.Fatal(err)
		}
		piece = bytes.Clone(out.Bytes()[before:])
	}
	return append(out.Bytes(), bytes.Repeat(piece, pieces-2)...)
}
