package sqliteengine

import "berth/ports/engine"

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
