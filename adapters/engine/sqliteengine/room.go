package sqliteengine

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"berth/domain/stream"
	"berth/ports/engine"
)

// uploadLife is how long an upload may lie that nobody goes on with, before it makes room where there is none, and at the
// next opening.
const uploadLife = 24 * time.Hour

// room keeps room for a part beside everything else, unfinished uploads and what is on its way included.
func (e *Engine) room(used int64, of, name string, u stream.Upload) error {
	e.rooms.Lock()
	defer e.rooms.Unlock()
	var refused error
	for _, old := range []bool{false, true} { // what is old makes room only where it must
		pending, err := e.pending(old)
		if err != nil {
			return e.fault(err)
		}
		if pending, err = e.crowd(pending, of, name); err != nil {
			return err
		}
		var others int64
		for _, other := range pending {
			if other.name != name {
				others += stream.AttachmentCost(other.size)
			}
		}
		end := u.Offset + u.Length
		no := e.disk.limits.Admits(used+others, stream.AttachmentCost(end))
		if no == nil {
			e.reserve(name, end)
			return nil
		}
		refused = no
	}
	return refused
}

// crowd has a principal's upload that lies for longest give way where there are as many as may be. Fault: Exhausted
// engine_busy where all are on their way.
func (e *Engine) crowd(pending []unfinished, of, name string) ([]unfinished, error) {
	longest, count := -1, 0
	for i, other := range pending {
		if other.name == name || !strings.HasPrefix(other.name, of) {
			continue
		}
		count++
		if !e.arriving(other.name) && (longest < 0 || other.at.Before(pending[longest].at)) {
			longest = i
		}
	}
	switch {
	case count < stream.MaxUploads:
		return pending, nil
	case longest < 0:
		return nil, engine.Busy()
	}
	if err := e.forget(e.path(uploadsDir, pending[longest].name)); err != nil {
		return nil, err
	}
	return slices.Delete(pending, longest, longest+1), nil
}

// unfinished is an upload that is not whole: how large it is, or will be once the part is there that is on its way.
type unfinished struct {
	name string
	size int64
	at   time.Time // when something came of it last
}

// pending are the unfinished uploads, after those were removed that lie for too long, if they are to be.
func (e *Engine) pending(removing bool) (out []unfinished, err error) {
	entries, err := os.ReadDir(e.path(uploadsDir))
	if err != nil {
		return nil, lost(e.tenant, e.path(uploadsDir), err)
	}
	coming := e.coming()
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is whole by now
		}
		if err != nil {
			return nil, err
		}
		end, arriving := coming[entry.Name()]
		delete(coming, entry.Name())
		if removing && !arriving && time.Since(info.ModTime()) > uploadLife {
			if err := e.forget(e.path(uploadsDir, entry.Name())); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, unfinished{entry.Name(), max(end, info.Size()), info.ModTime()})
	}
	for name, end := range coming {
		if end > 0 {
			out = append(out, unfinished{name: name, size: end})
		}
	}
	return out, nil
}

func (e *Engine) arriving(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.arrivingOf(name)
}

// arrivingOf is arriving for who holds e.mu.
func (e *Engine) arrivingOf(name string) bool {
	_, is := e.parts[name]
	return is
}

// reserve keeps room for what an upload will be once its part is there.
func (e *Engine) reserve(name string, end int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.parts[name] = end
}

func (e *Engine) coming() map[string]int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.parts)
}
