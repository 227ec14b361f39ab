package access

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"berth/ports/store"
)

// digest stands for a node and all it believes.
type digest [sha256.Size]byte

// digestOf is another for every other node and list: each text goes in with its length.
func digestOf(node string, known []store.Known) (d digest) {
	h := sha256.New()
	buffer := binary.AppendUvarint(make([]byte, 0, 256), uint64(len(node)))
	buffer = append(buffer, node...)
	for _, k := range known {
		buffer = binary.AppendUvarint(buffer, uint64(len(k.Tenant)))
		buffer = append(buffer, k.Tenant...)
		buffer = binary.AppendVarint(buffer, k.Generation)
		buffer = binary.AppendVarint(buffer, k.Revision)
		h.Write(buffer)
		buffer = buffer[:0]
	}
	h.Write(buffer)
	h.Sum(d[:0])
	return d
}

// confirmed remembers which beliefs were true at which pulse, so that a poll about which nothing changed costs one small
// read, whatever the number of its tenants. What it forgets costs a reading in full, and nothing else. The zero confirmed
// is ready for use.
type confirmed struct {
	mu         sync.Mutex
	young, old map[digest]store.Pulse
}

// mostConfirmed is how many beliefs fit in one of the two generations: enough for 10,000,000 tenants in polls of 500, in
// about 2 MiB.
const mostConfirmed = 20_000

// at says whether the beliefs were true at this pulse.
func (c *confirmed) at(d digest, now store.Pulse) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	pulse, found := c.young[d]
	if !found {
		if pulse, found = c.old[d]; found {
			c.keep(d, pulse)
		}
	}
	return found && pulse == now
}

// note remembers that the beliefs are true at this pulse.
func (c *confirmed) note(d digest, at store.Pulse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(d, at)
}

func (c *confirmed) keep(d digest, at store.Pulse) {
	if len(c.young) >= mostConfirmed || c.young == nil {
		c.young, c.old = map[digest]store.Pulse{}, c.young
	}
	c.young[d] = at
}
