// Package packtest is the suite that every archiver passes, and an archiver of a simple form for other tests.
package packtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"berth/domain/fault"
	"berth/ports/internal/law"
	"berth/ports/pack"
)

// Entry is one entry of an archive as a stranger may make it. Link is what it points to; a directory ends with a slash.
type Entry struct {
	Name    string
	Content string
	Link    string
}

// Kit is an archiver, and a forge that writes archives of its form with any entries, in the order given.
type Kit struct {
	pack.Archiver
	Forge func(tb testing.TB, entries []Entry) []byte
}

// Run checks every law.
func Run(t *testing.T, open func(tb testing.TB) Kit) {
	t.Helper()
	law.Run(t, laws(), open)
}

func laws() []law.Law[Kit] {
	return []law.Law[Kit]{
		{Name: "what was written is read", Check: comesBack},
		{Name: "the same files make the same bytes", Check: isDeterministic},
		{Name: "only files of a package are written", Check: refusesFiles},
		{Name: "what is damaged is refused", Check: isWhole},
		{Name: "what Write would not have made is refused", Check: refusesForgeries},
		{Name: "a package is bounded", Check: isBounded},
		{Name: "what is given is left as it was", Check: leavesAlone},
	}
}

func sample() []pack.File {
	return []pack.File{
		{Name: "README.md", Content: []byte("read me\n")},
		{Name: "manifest.json", Content: []byte(`{"files":[]}`)},
		{Name: "objects/" + strings.Repeat("a", 64), Content: bytes.Repeat([]byte("x"), 600)},
		{Name: "objects/" + strings.Repeat("b", 64), Content: []byte{}},
	}
}

func write(tb testing.TB, k Kit, files []pack.File) []byte {
	tb.Helper()
	archive, err := k.Write(files)
	if err != nil {
		tb.Fatalf("write: %v", err)
	}
	return archive
}

func same(a, b []pack.File) bool {
	return slices.EqualFunc(a, b, func(a, b pack.File) bool { return a.Name == b.Name && bytes.Equal(a.Content, b.Content) })
}

func refused(tb testing.TB, what string, got []pack.File, err error) {
	tb.Helper()
	if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != "package_invalid" || len(got) > 0 {
		tb.Errorf("%s: answered with %d files and %v", what, len(got), err)
	}
}

func comesBack(tb testing.TB, k Kit) {
	tb.Helper()
	long := []pack.File{{Name: strings.Repeat("d/", 30) + strings.Repeat("f", 40), Content: []byte("\x00\xff")}}
	for _, files := range [][]pack.File{sample(), long, {}} {
		got, err := k.Read(write(tb, k, files))
		if err != nil || !same(got, files) {
			tb.Fatalf("%d files came back as %d (%v)", len(files), len(got), err)
		}
	}
}

func isDeterministic(tb testing.TB, k Kit) {
	tb.Helper()
	files := sample()
	first := write(tb, k, files)
	slices.Reverse(files)
	for range 3 {
		if !bytes.Equal(first, write(tb, k, files)) {
			tb.Fatal("the same files made other bytes")
		}
	}
	got, err := k.Read(first)
	if err != nil || !same(got, sample()) {
		tb.Fatalf("read in another order than that of the names (%v)", err)
	}
	if bytes.Equal(first, write(tb, k, files[1:])) {
		tb.Fatal("other files made the same bytes")
	}
}

// outside are names that no file may have.
func outside() []string {
	return []string{
		"", "/etc/passwd", "../up", "a/../../up", "a/..", "..", ".", "./a", "a/./b", "a//b", "a/", `a\b`, `..\up`, "C:/a", "a\x00b",
		"a\nb", "a b", "ä", strings.Repeat("n", pack.MaxName+1),
	}
}

func refusesFiles(tb testing.TB, k Kit) {
	tb.Helper()
	cases := [][]pack.File{{{Name: "a"}, {Name: "a"}}, {{Name: "a"}, {Name: "a/b"}}, {{Name: "a-b"}, {Name: "a/b/c"}, {Name: "a/b"}}}
	for _, name := range outside() {
		cases = append(cases, []pack.File{{Name: name}})
	}
	for _, files := range cases {
		archive, err := k.Write(files)
		if fault.KindOf(err) != fault.Invalid || fault.SlugOf(err) != "package_file_invalid" || len(archive) > 0 {
			tb.Errorf("%.80q: wrote %d bytes (%v)", files, len(archive), err)
		}
	}
}

func isWhole(tb testing.TB, k Kit) {
	tb.Helper()
	archive := write(tb, k, sample())
	for at := range archive {
		got, err := k.Read(archive[:at])
		refused(tb, fmt.Sprintf("%d bytes of it", at), got, err)
		changed := bytes.Clone(archive)
		changed[at] ^= 1
		if got, err := k.Read(changed); err == nil && !same(got, sample()) {
			tb.Errorf("with another byte %d it was read as something else", at)
		}
	}
	got, err := k.Read(append(bytes.Clone(archive), 0))
	refused(tb, "a byte more", got, err)
	got, err = k.Read(append(bytes.Clone(archive), archive...))
	refused(tb, "twice in a row", got, err)
	got, err = k.Read([]byte("no archive at all"))
	refused(tb, "something else", got, err)
}

func refusesForgeries(tb testing.TB, k Kit) {
	tb.Helper()
	got, err := k.Read(k.Forge(tb, []Entry{{Name: "a", Content: "x"}, {Name: "b"}}))
	if err != nil || len(got) != 2 {
		tb.Fatalf("what Write would have made is refused: %v", err)
	}
	cases := map[string][]Entry{
		"twice":              {{Name: "a"}, {Name: "a"}},
		"another order":      {{Name: "b"}, {Name: "a"}},
		"a file beneath one": {{Name: "a"}, {Name: "a/b"}},
		"a link outside":     {{Name: "a", Link: "/etc/passwd"}},
		"a link within":      {{Name: "a"}, {Name: "b", Link: "a"}},
		"a directory":        {{Name: "a/"}},
	}
	for _, name := range outside() {
		if !strings.Contains(name, "\x00") && len(name) <= pack.MaxName {
			cases[fmt.Sprintf("named %q", name)] = []Entry{{Name: name, Content: "x"}}
		}
	}
	for name, entries := range cases {
		got, err := k.Read(k.Forge(tb, entries))
		refused(tb, name, got, err)
	}
}

func isBounded(tb testing.TB, k Kit) {
	tb.Helper()
	files := make([]pack.File, pack.MaxFiles+1)
	entries := make([]Entry, len(files))
	for i := range files {
		files[i].Name = fmt.Sprintf("objects/%04d", i)
		entries[i].Name = files[i].Name
	}
	if _, err := k.Write(files); fault.SlugOf(err) != "package_file_invalid" {
		tb.Errorf("too many files: %v", err)
	}
	got, err := k.Read(k.Forge(tb, entries))
	refused(tb, "too many files", got, err)
	if got, err := k.Read(write(tb, k, files[1:])); err != nil || len(got) != pack.MaxFiles {
		tb.Errorf("as many files as there may be: %v", err)
	}
	half := make([]byte, pack.MaxTotal/2+1)
	if _, err := k.Write([]pack.File{{Name: "a", Content: half}, {Name: "b", Content: half}}); fault.SlugOf(err) != "package_file_invalid" {
		tb.Errorf("too many bytes: %v", err)
	}
}

func leavesAlone(tb testing.TB, k Kit) {
	tb.Helper()
	files := sample()
	slices.Reverse(files)
	archive := write(tb, k, files)
	if files[3].Name != "README.md" {
		tb.Fatal("writing put the caller's files in order")
	}
	kept := bytes.Clone(archive)
	got, err := k.Read(archive)
	if err != nil {
		tb.Fatal(err)
	}
	clear(archive)
	if !same(got, sample()) {
		tb.Fatal("what was read is the archive's own memory")
	}
	if _, err := k.Read(kept); err != nil || !bytes.Equal(kept, write(tb, k, files)) {
		tb.Fatalf("reading wrote into the archive (%v)", err)
	}
}
