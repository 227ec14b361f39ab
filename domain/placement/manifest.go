package placement

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Chunk is one piece of a tenant's data in a manifest (§14). Its id is the SHA-256 of its plain text, so that the root
// does not depend on how it is encrypted where it is kept.
type Chunk struct {
	Kind   string // what it is a piece of: ^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$
	Index  int64  // of the piece within its kind, from 0
	Length int64  // in bytes of plain text
	ID     [sha256.Size]byte
}

func (c Chunk) compare(d Chunk) int {
	return cmp.Or(cmp.Compare(c.Kind, d.Kind), cmp.Compare(c.Index, d.Index))
}

// Content is what a manifest's root stands for: whose data, of which generation, up to which commit, and its chunks in
// ascending order of kind and index.
type Content struct {
	Tenant     string
	Generation int64
	Sequence   int64 // the Engine's last committed sequence
	Chunks     []Chunk
}

// Manifest names the content by its root (P3, P4): a Merkle root over the chunks as RFC 9162 §2.1.1 builds it, hashed
// together with tenant, generation and sequence, so that no part of it fits another tenant, generation or moment.
// Fault: Invalid manifest_disordered, invalid_id, out_of_range.
func (c Content) Manifest() (Manifest, error) {
	if err := c.check(); err != nil {
		return Manifest{}, err
	}
	leaves := make([][sha256.Size]byte, 0, len(c.Chunks))
	for _, chunk := range c.Chunks {
		leaves = append(leaves, chunk.leaf())
	}
	tree := merkle(leaves)
	b := []byte("berth/manifest/v1\x00" + c.Tenant + "\x00")
	b = number(b, c.Generation, c.Sequence, int64(len(c.Chunks)))
	root := sha256.Sum256(append(b, tree[:]...))
	return Manifest{Root: hex.EncodeToString(root[:]), LastSequence: c.Sequence}, nil
}

// Verify proves that a manifest is that of the content (P4).
// Faults: Conflict last_sequence_differs, manifest_root_differs; those of Manifest.
func (c Content) Verify(named Manifest) error {
	own, err := c.Manifest()
	switch {
	case err != nil:
		return err
	case own.LastSequence != named.LastSequence:
		return fault.New(fault.Conflict, "last_sequence_differs", "the manifest is of sequence %d, the content of %d",
			named.LastSequence, own.LastSequence)
	case own.Root != named.Root:
		return fault.New(fault.Conflict, "manifest_root_differs", "the content is not what the manifest names")
	}
	return nil
}

func (c Content) check() error {
	if err := fault.All(ident.Check("tenant", c.Tenant), ident.Counter("generation", c.Generation),
		ident.Counter("sequence", c.Sequence)); err != nil {
		return err
	}
	for i, chunk := range c.Chunks {
		if err := fault.All(ident.Check("kind", chunk.Kind), ident.Counter("index", chunk.Index),
			ident.Counter("length", chunk.Length)); err != nil {
			return err
		}
		if i > 0 && c.Chunks[i-1].compare(chunk) >= 0 {
			return fault.New(fault.Invalid, "manifest_disordered", "chunks stand in ascending order of kind and index, each once")
		}
	}
	return nil
}

// The first byte keeps a leaf from being taken for a node of the tree (RFC 9162 §2.1.1).
func (c Chunk) leaf() [sha256.Size]byte {
	b := number(append([]byte{0}, c.Kind+"\x00"...), c.Index, c.Length)
	return sha256.Sum256(append(b, c.ID[:]...))
}

func merkle(leaves [][sha256.Size]byte) [sha256.Size]byte {
	switch len(leaves) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return leaves[0]
	}
	split := 1 << (bits.Len(uint(len(leaves)-1)) - 1) // the largest power of two below their number
	left, right := merkle(leaves[:split]), merkle(leaves[split:])
	return sha256.Sum256(slices.Concat([]byte{1}, left[:], right[:]))
}

func number(b []byte, of ...int64) []byte {
	for _, n := range of {
		b = binary.BigEndian.AppendUint64(b, uint64(n)) //nolint:gosec // checked to be a counter
	}
	return b
}
