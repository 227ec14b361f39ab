package placement

import (
	"testing"

	"pgregory.net/rapid"
)

func drawContent(t *rapid.T) Content {
	c := Content{
		Tenant: rapid.SampledFrom([]string{"acme", "acm", "e"}).Draw(t, "tenant"), Generation: rapid.Int64Range(1, 4).Draw(t, "generation"),
		Sequence: rapid.Int64Range(0, 4).Draw(t, "sequence"),
	}
	for i := range rapid.Int64Range(0, 9).Draw(t, "chunks") {
		c.Chunks = append(c.Chunks, Chunk{Kind: "base", Index: i, Length: rapid.Int64Range(0, 3).Draw(t, "length"), ID: [32]byte{byte(i)}})
	}
	return c
}

func rootOf(tb rapid.TB, c Content) string {
	tb.Helper()
	m, err := c.Manifest()
	if err != nil {
		tb.Fatal(err)
	}
	if err := m.Check(); err != nil || m.LastSequence != c.Sequence {
		tb.Fatalf("%+v is no manifest of sequence %d: %v", m, c.Sequence, err)
	}
	return m.Root
}

// A root is of one content only: whatever is changed, added, left out or exchanged makes it another (P4).
func TestManifestIsOfItsContentOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawContent(t)
		was := rootOf(t, c)
		if err := c.Verify(Manifest{was, c.Sequence}); err != nil {
			t.Fatal(err)
		}
		other := c
		other.Chunks = append([]Chunk(nil), c.Chunks...)
		changes := []func(){
			func() { other.Tenant += "x" }, func() { other.Generation++ }, func() { other.Sequence++ },
			func() { other.Chunks = append(other.Chunks, Chunk{Kind: "extra"}) },
		}
		if n := len(c.Chunks); n > 0 {
			i := rapid.IntRange(0, n-1).Draw(t, "at")
			changes = append(changes, func() { other.Chunks[i].Length++ }, func() { other.Chunks[i].ID[31]++ },
				func() { other.Chunks = other.Chunks[:n-1] }, func() { other.Chunks[n-1].Index++ }, func() { other.Chunks[n-1].Kind = "basf" })
		}
		rapid.SampledFrom(changes).Draw(t, "change")()
		if rootOf(t, other) == was {
			t.Fatalf("%+v and %+v have one root", c, other)
		}
		if err := other.Verify(Manifest{was, other.Sequence}); !isSlug(err, "manifest_root_differs") {
			t.Fatalf("verified: %v", err)
		}
	})
}

// The root of a tenant without data is fixed: source and target compute it apart from one another.
func TestEmptyManifest(t *testing.T) {
	t.Parallel()
	const want = "519f65aa221f7f82f5063bb8cfdcbbad981999add04abeed29d6a79ee56dc16e"
	if got := rootOf(t, Content{Tenant: "acme", Generation: 1}); got != want {
		t.Fatalf("the root is %s", got)
	}
}

// Chunks out of order, twice or out of form are no content.
func TestManifestRefusesDisorder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		content Content
		slug    string
	}{
		"twice":        {Content{Tenant: "a", Chunks: []Chunk{{Kind: "b"}, {Kind: "b"}}}, "manifest_disordered"},
		"backwards":    {Content{Tenant: "a", Chunks: []Chunk{{Kind: "b", Index: 1}, {Kind: "b"}}}, "manifest_disordered"},
		"no kind":      {Content{Tenant: "a", Chunks: []Chunk{{}}}, "invalid_id"},
		"no tenant":    {Content{}, "invalid_id"},
		"before zero":  {Content{Tenant: "a", Sequence: -1}, "out_of_range"},
		"no length":    {Content{Tenant: "a", Chunks: []Chunk{{Kind: "b", Length: -1}}}, "out_of_range"},
		"other length": {Content{Tenant: "a", Generation: 1 << 60}, "out_of_range"},
	} {
		if _, err := c.content.Manifest(); !isSlug(err, c.slug) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refused(t, Content{Tenant: "a"}.Verify(Manifest{LastSequence: 1}), "last_sequence_differs")
}
