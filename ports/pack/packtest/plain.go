package packtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"testing"

	"berth/ports/pack"
)

// Plain is an archiver whose archives are JSON after its SHA-256, for tests of use cases. Its zero value is ready.
type Plain struct{}

var _ pack.Archiver = Plain{}

type plainEntry struct {
	Name    string
	Content []byte
	Link    string
}

// Write writes JSON.
func (Plain) Write(files []pack.File) ([]byte, error) {
	sorted, err := pack.Check(files)
	if err != nil {
		return nil, err
	}
	entries := make([]plainEntry, 0, len(sorted))
	for _, f := range sorted {
		entries = append(entries, plainEntry{Name: f.Name, Content: f.Content})
	}
	return summed(entries), nil
}

// Read reads what Write wrote.
func (Plain) Read(archive []byte) ([]pack.File, error) {
	var entries []plainEntry
	if len(archive) < sha256.Size || sha256.Sum256(archive[sha256.Size:]) != [sha256.Size]byte(archive[:sha256.Size]) {
		return nil, pack.Damaged(errors.New("the sum is another"))
	}
	if err := json.Unmarshal(archive[sha256.Size:], &entries); err != nil {
		return nil, pack.Damaged(err)
	}
	files := make([]pack.File, 0, len(entries))
	for _, e := range entries {
		if e.Link != "" {
			return nil, pack.Damaged(errors.New("there is a link"))
		}
		files = append(files, pack.File{Name: e.Name, Content: e.Content})
	}
	sorted, err := pack.Check(files)
	if err != nil {
		return nil, pack.Damaged(err)
	}
	for i := range sorted {
		if sorted[i].Name != files[i].Name {
			return nil, pack.Damaged(errors.New("the order is another"))
		}
	}
	return files, nil
}

func summed(entries []plainEntry) []byte {
	text, err := json.Marshal(entries)
	if err != nil {
		panic(err) // names and bytes always become JSON
	}
	sum := sha256.Sum256(text)
	return append(sum[:], text...)
}

// PlainKit is Plain with its forge.
func PlainKit() Kit {
	return Kit{Plain{}, func(_ testing.TB, entries []Entry) []byte {
		out := make([]plainEntry, 0, len(entries))
		for _, e := range entries {
			out = append(out, plainEntry{e.Name, bytes.Clone([]byte(e.Content)), e.Link})
		}
		return summed(out)
	}}
}
