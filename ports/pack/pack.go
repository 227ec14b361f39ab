// Package pack writes and reads the archives of delivery packages (K1): a gzipped tar, the same bytes for the same files,
// with a signed manifest of all that is in it.
package pack

import (
	"fmt"
	"slices"
	"strings"

	"berth/domain/fault"
)

// Bounds of a package, whoever made it.
const (
	MaxFiles = 2048
	MaxName  = 100       // bytes of a file's name
	MaxTotal = 256 << 20 // bytes of all files together
)

// File is one file of a package. Name is a relative path with forward slashes: parts of A-Z, a-z, 0-9, '.', '_' and '-',
// of which none is "." or "..".
type File struct {
	Name    string
	Content []byte
}

// Archiver makes and reads archives. Its methods are safe for concurrent use and neither keep nor change what they are
// given.
type Archiver interface {
	// Write returns the archive of the files, in the order of their names, without times, owners or anything else that
	// is not in them. Invalid package_file_invalid for what Check refuses.
	Write(files []File) ([]byte, error)
	// Read returns the files, by name. Invalid package_invalid for what is damaged, out of bounds, or names a place
	// outside, and for all that Write would not have made, such as links, directories and what follows the end.
	Read(archive []byte) ([]File, error)
}

// Check returns the files by name, or refuses what no package may hold: Invalid package_file_invalid.
func Check(files []File) ([]File, error) {
	sorted := slices.Clone(files)
	slices.SortFunc(sorted, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	total := 0
	for i, f := range sorted {
		total += len(f.Content)
		switch {
		case !isName(f.Name):
			return nil, refuse(f.Name, "is no name of a file in a package")
		case i > 0 && sorted[i-1].Name == f.Name:
			return nil, refuse(f.Name, "is there twice")
		case total > MaxTotal || i >= MaxFiles:
			return nil, refuse(f.Name, "is more than a package holds")
		}
	}
	if name, ok := nested(sorted); ok {
		return nil, refuse(name, "is a file and a directory")
	}
	return sorted, nil
}

// nested finds a file whose name is that of another one's directory. The files are by name.
func nested(files []File) (string, bool) {
	for _, f := range files {
		for at := range len(f.Name) {
			if f.Name[at] == '/' && has(files, f.Name[:at]) {
				return f.Name[:at], true
			}
		}
	}
	return "", false
}

func has(files []File, name string) bool {
	_, found := slices.BinarySearchFunc(files, name, func(f File, name string) int { return strings.Compare(f.Name, name) })
	return found
}

func isName(name string) bool {
	if len(name) > MaxName {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, foreign) {
			return false
		}
	}
	return true
}

func foreign(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
}

func refuse(name, what string) error {
	return fault.New(fault.Invalid, "package_file_invalid", "%s %s", fmt.Sprintf("%.120q", name), what)
}

// Damaged is the fault for what is no package, because of cause.
func Damaged(cause error) *fault.Error {
	return fault.New(fault.Invalid, "package_invalid", "this is no delivery package, or a damaged one").Because(cause)
}
