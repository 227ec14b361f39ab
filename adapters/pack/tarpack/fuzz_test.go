package tarpack

import (
	"bytes"
	"testing"

	"berth/domain/fault"
	"berth/ports/pack"
)

func seed(tb testing.TB) (files []pack.File, raw []byte) {
	tb.Helper()
	files = []pack.File{{Name: "a", Content: []byte("x")}, {Name: "b/c"}}
	var out bytes.Buffer
	if err := bundle(&out, files); err != nil {
		tb.Fatal(err)
	}
	return files, out.Bytes()
}

// Whatever tar is read is exactly what bundling its files gives again.
func FuzzTar(f *testing.F) {
	_, raw := seed(f)
	f.Add(raw)
	f.Add(raw[:512])
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, raw []byte) {
		files, err := parse(raw)
		if err != nil {
			refusedAsDamaged(t, err)
			return
		}
		var again bytes.Buffer
		if _, err := pack.Check(files); err != nil || bundle(&again, files) != nil || !bytes.Equal(again.Bytes(), raw) {
			t.Fatalf("%d files came of another tar (%v)", len(files), err)
		}
	})
}

// Whatever archive is read, its files can be written and read again.
func FuzzRead(f *testing.F) {
	files, _ := seed(f)
	archive, err := Archiver{}.Write(files)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(archive)
	f.Add(archive[:20])
	f.Add(append(bytes.Clone(archive), archive...))
	f.Fuzz(func(t *testing.T, archive []byte) {
		files, err := Archiver{}.Read(archive)
		if err != nil {
			refusedAsDamaged(t, err)
			return
		}
		again, err := Archiver{}.Write(files)
		if err != nil {
			t.Fatal(err)
		}
		if same, err := (Archiver{}).Read(again); err != nil || len(same) != len(files) {
			t.Fatalf("%d files became %d (%v)", len(files), len(same), err)
		}
	})
}

func refusedAsDamaged(t *testing.T, err error) {
	t.Helper()
	if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != "package_invalid" {
		t.Fatal(err)
	}
}
