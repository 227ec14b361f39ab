// Package idstest gives ids that a test can foretell.
package idstest

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync/atomic"

	"berth/ports/ids"
)

// Source counts: its nth id is the prefix and n in 26 digits, and its nth secret depends on nothing but the seed and n.
// It is safe for concurrent use. Two sources with one seed give the same.
type Source struct {
	seed    uint64
	names   atomic.Uint64
	secrets atomic.Uint64
}

var _ ids.Source = (*Source)(nil)

// New returns a source for a seed. The seed shapes the secrets only.
func New(seed uint64) *Source { return &Source{seed: seed} }

// New returns prefix, an underscore and the next number, in the length and alphabet of a true id.
func (s *Source) New(prefix string) string { return fmt.Sprintf("%s_%026d", prefix, s.names.Add(1)) }

// Secret returns the next n bytes that the seed gives.
func (s *Source) Secret(n int) []byte {
	var block [24]byte
	binary.BigEndian.PutUint64(block[:], s.seed)
	binary.BigEndian.PutUint64(block[8:], s.secrets.Add(1))
	out := make([]byte, 0, n+sha256.Size)
	for i := uint64(0); len(out) < n; i++ {
		binary.BigEndian.PutUint64(block[16:], i)
		sum := sha256.Sum256(block[:])
		out = append(out, sum[:]...)
	}
	return out[:n:n]
}
