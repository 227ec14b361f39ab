package access

import (
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"berth/ports/store"
)

// beliefs stand for a node and all it believes.
type beliefs struct {
	node   string
	digest [sha256.Size]byte
	raw    bool // of the body, and not of what was read from it
}

// beliefs are those of the request. The body stands for them where no wait is in it: one that is to wait is looked at
// again each time.
func (r PollRequest) beliefs() beliefs {
	if r.Wait <= 0 && r.Body != [sha256.Size]byte{} {
		return beliefs{node: r.Caller.Node, digest: r.Body, raw: true}
	}
	return beliefs{node: r.Caller.Node, digest: digestOf(r.Known)}
}

// digestOf is another for every other list: each text goes in with its length.
func digestOf(known []store.Known) (d [sha256.Size]byte) {
	h := sha256.New()
	buffer := make([]byte, 0, 256)
	for _, k := range known {
		buffer = binary.AppendUvarint(buffer[:0], uint64(len(k.Tenant)))
		buffer = append(buffer, k.Tenant...)
		buffer = binary.AppendVarint(buffer, k.Generation)
		buffer = binary.AppendVarint(buffer, k.Revision)
		h.Write(buffer)
	}
	h.Sum(d[:0])
	return d
}

// confirmed remembers which beliefs were true at which pulse, so that a poll about which nothing changed costs one small
// read, whatever the number of its tenants. What it forgets costs a reading in full, and nothing else. The zero confirmed
// is ready for use.
type confirmed struct {
	mu         sync.Mutex
	young, old map[beliefs]store.Pulse
}

// mostConfirmed is how many beliefs fit in one of the two generations: enough for 10,000,000 tenants in polls of 500, in
// about 4 MiB.
const mostConfirmed = 20_000

// holds says whether the beliefs were true at any pulse.
func (c *confirmed) holds(b beliefs) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, young := c.young[b]
	_, old := c.old[b]
	return young || old
}

// at says whether the beliefs were true at this pulse.
func (c *confirmed) at(b beliefs, now store.Pulse) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	pulse, found := c.young[b]
	if !found {
		if pulse, found = c.old[b]; found {
			c.keep(b, pulse)
		}
	}
	return found && pulse == now
}

// note remembers that the beliefs are true at this pulse.
func (c *confirmed) note(b beliefs, at store.Pulse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(b, at)
}

func (c *confirmed) keep(b beliefs, at store.Pulse) {
	if len(c.young) >= mostConfirmed || c.young == nil {
		c.young, c.old = map[beliefs]store.Pulse{}, c.young
	}
	c.young[b] = at
}
