package sqliteengine

import (
	"runtime"

	"berth/ports/engine"
)

// The steps between which a process can end while a copy is made, and while one is removed.
func Steps() []string { return []string{"made", "filled", "named", "renamed away", "away"} }

// KillAt has the disk end whatever comes to the step for the n-th time, as if the process were killed there.
func (d *Disk) KillAt(step string, n int) {
	d.step = func(at string) error {
		if at == step {
			if n--; n == 0 {
				return errKilled
			}
		}
		return nil
	}
}

// Bound lets no engine.db that is opened from now on have more pages than so many.
func (d *Disk) Bound(pages int64) { d.maxPages = pages }

// Rebound bounds an open one.
func Rebound(e engine.Engine, pages int64) error { return e.(*Engine).file.bound(pages) }

// Hold keeps what is appended from being committed, until the function returned is called.
func Hold(e engine.Engine) (release func()) {
	f := e.(*Engine).file
	f.mu.Lock()
	return f.mu.Unlock
}

// Most is how many appends may wait.
const Most = waitMessages + batchMessages

// Crowd lets no more bytes wait in all Engines together than so many, of which each message takes Around beside its body.
func (d *Disk) Crowd(bytes int64) { d.mostWaiting = bytes }

// Around is what a message takes beside its body while it waits.
const Around = aroundEach

// Stuff has an Engine that is held begin a commit, so that what follows waits.
func Stuff(e engine.Engine, w engine.Write) {
	own := e.(*Engine)
	own.Append(w, func(engine.Appended, error) {})
	for waits := true; waits; runtime.Gosched() {
		own.mu.Lock()
		waits = len(own.queue) > 0
		own.mu.Unlock()
	}
}
