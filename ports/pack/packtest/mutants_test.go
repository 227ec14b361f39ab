package packtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"berth/ports/internal/law"
	"berth/ports/pack"
)

// The plain archiver keeps every law.
func TestPlainConforms(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Kit { return PlainKit() })
}

type mutant struct {
	write func([]pack.File) ([]byte, error)
	read  func([]byte) ([]pack.File, error)
}

func (m *mutant) Write(files []pack.File) ([]byte, error)  { return m.write(files) }
func (m *mutant) Read(archive []byte) ([]pack.File, error) { return m.read(archive) }

// Each mutant is the plain archiver with one fault, and the law that forbids the fault notices it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	for name, f := range mutants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			law.Caught(t, laws(), f.law, func(testing.TB) Kit {
				kit, m := PlainKit(), &mutant{Plain{}.Write, Plain{}.Read}
				f.spoil(m)
				kit.Archiver = m
				return kit
			})
		})
	}
}

type fate struct {
	law   string
	spoil func(m *mutant)
}

// lax reads without any check but that of the sum; tidy is then asked about each file, and may change or drop it.
func lax(tidy func(plainEntry) (pack.File, error)) func([]byte) ([]pack.File, error) {
	return func(archive []byte) ([]pack.File, error) {
		if _, err := (Plain{}).Read(archive); err == nil {
			return Plain{}.Read(archive)
		}
		var entries []plainEntry
		if len(archive) < sha256.Size || json.Unmarshal(archive[sha256.Size:], &entries) != nil {
			return nil, pack.Damaged(nil)
		}
		if sum := sha256.Sum256(archive[sha256.Size:]); !bytes.HasPrefix(archive, sum[:]) {
			return nil, pack.Damaged(nil)
		}
		var files []pack.File
		for _, e := range entries {
			f, err := tidy(e)
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		}
		return files, nil
	}
}

func mutants() map[string]fate {
	const forged = "what Write would not have made is refused"
	raw := func(files []pack.File) []byte {
		var entries []plainEntry
		for _, f := range files {
			entries = append(entries, plainEntry{Name: f.Name, Content: f.Content})
		}
		return summed(entries)
	}
	return map[string]fate{
		"follows links": {forged, func(m *mutant) {
			m.read = lax(func(e plainEntry) (pack.File, error) {
				if e.Link == "" {
					return pack.File{}, pack.Damaged(nil)
				}
				return pack.File{Name: e.Name}, nil
			})
		}},
		"leaves the package": {forged, func(m *mutant) {
			m.read = lax(func(e plainEntry) (pack.File, error) {
				if !strings.Contains(e.Name, "..") {
					return pack.File{}, pack.Damaged(nil)
				}
				return pack.File{Name: e.Name}, nil
			})
		}},
		"takes one of two": {forged, func(m *mutant) {
			m.read = lax(func(e plainEntry) (pack.File, error) { return pack.File{Name: e.Name}, nil })
		}},
		"takes the rest out": {"what is damaged is refused", func(m *mutant) {
			m.read = func(archive []byte) ([]pack.File, error) { return Plain{}.Read(bytes.TrimRight(archive, "\x00")) }
		}},
		"checks no sum": {"what is damaged is refused", func(m *mutant) {
			m.read = func(archive []byte) ([]pack.File, error) {
				if len(archive) < sha256.Size {
					return nil, pack.Damaged(nil)
				}
				sum := sha256.Sum256(archive[sha256.Size:])
				return Plain{}.Read(append(sum[:], archive[sha256.Size:]...))
			}
		}},
		"an error without a kind": {"what is damaged is refused", func(m *mutant) {
			m.read = func([]byte) ([]pack.File, error) { return nil, errors.New("no") }
		}},
		"the order of the caller": {"the same files make the same bytes", func(m *mutant) {
			m.write = func(files []pack.File) ([]byte, error) { return raw(files), nil }
		}},
		"the time of writing": {"the same files make the same bytes", func(m *mutant) {
			n := byte(0)
			m.write = func(files []pack.File) ([]byte, error) {
				n++
				return Plain{}.Write(append(slices.Clone(files), pack.File{Name: "written", Content: []byte{n}}))
			}
		}},
		"any name": {"only files of a package are written", func(m *mutant) {
			m.write = func(files []pack.File) ([]byte, error) { return raw(files), nil }
		}},
		"drops empty files": {"what was written is read", func(m *mutant) {
			m.write = func(files []pack.File) ([]byte, error) {
				return Plain{}.Write(slices.DeleteFunc(slices.Clone(files), func(f pack.File) bool { return len(f.Content) == 0 }))
			}
		}},
		"as many as there are": {"a package is bounded", func(m *mutant) {
			m.read = lax(func(e plainEntry) (pack.File, error) { return pack.File{Name: e.Name}, nil })
		}},
		"sorts in place": {"what is given is left as it was", func(m *mutant) {
			m.write = func(files []pack.File) ([]byte, error) {
				slices.SortFunc(files, func(a, b pack.File) int { return strings.Compare(a.Name, b.Name) })
				return Plain{}.Write(files)
			}
		}},
	}
}
