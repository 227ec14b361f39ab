package devnode

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/cmd/internal/secretfile"
	"berth/domain/placement"
	"berth/ports/ids"
)

// data stands for what a tenant wrote: how often, and the hash of all of it.
type data struct {
	Sequence int64  `json:"sequence"`
	Hash     string `json:"hash"`
}

// next is the data after one more write.
func (d data) next() data {
	sum := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(d.Hash), uint64(d.Sequence+1))) //nolint:gosec // never negative
	return data{d.Sequence + 1, hex.EncodeToString(sum[:])}
}

// root binds the data to tenant and generation, as a manifest's root does (P4).
func (d data) root(tenant string, generation int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d\x00%s", tenant, generation, d.Sequence, d.Hash))
	return hex.EncodeToString(sum[:])
}

// kept is a tenant's copy on this node's disk (P16).
type kept struct {
	Stamp        int64 `json:"stamp"`
	Fenced       bool  `json:"fenced"`
	FenceVersion int64 `json:"fence_version"`
	Data         data  `json:"data"`
}

type diskState struct {
	StorageID string          `json:"storage_id"`
	Tenants   map[string]kept `json:"tenants"`
}

// disk is what a node keeps through a restart: one file, replaced as a whole.
type disk struct {
	path string

	mu    sync.Mutex
	state diskState
}

func openDisk(dir string, from ids.Source) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	d := &disk{path: filepath.Join(dir, "node.json")}
	text, err := os.ReadFile(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		d.state = diskState{StorageID: from.New("disk"), Tenants: map[string]kept{}}
		return d, d.save()
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &d.state); err != nil {
		return nil, fmt.Errorf("%s: %w", d.path, err)
	}
	return d, nil
}

func (d *disk) storageID() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.StorageID
}

func (d *disk) usage() contract.Capacity {
	d.mu.Lock()
	defer d.mu.Unlock()
	used := contract.Capacity{Tenants: int64(len(d.state.Tenants))}
	for _, k := range d.state.Tenants {
		used.Bytes += k.Data.Sequence * sha256.Size
	}
	return used
}

func (d *disk) get(tenant string) (kept, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.state.Tenants[tenant]
	return k, ok
}

// update changes a tenant's copy and makes the change durable, or leaves it as it was.
func (d *disk) update(tenant string, change func(kept, bool) (kept, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, present := d.state.Tenants[tenant]
	after, err := change(before, present)
	if err != nil || present && after == before {
		return err
	}
	d.state.Tenants[tenant] = after
	if err := d.save(); err != nil {
		if present {
			d.state.Tenants[tenant] = before
		} else {
			delete(d.state.Tenants, tenant)
		}
		return err
	}
	return nil
}

func (d *disk) save() error {
	text, err := json.Marshal(d.state, json.Deterministic(true))
	if err != nil {
		return err
	}
	return secretfile.Write(d.path, text)
}

// seen is the copy as the right to write sees it.
func (k kept) seen(present bool) placement.Copy {
	return placement.Copy{Present: present, Stamp: k.Stamp, Fenced: k.Fenced, FenceVersion: k.FenceVersion}
}
