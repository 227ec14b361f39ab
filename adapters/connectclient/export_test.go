package connectclient

import "time"

// At sets the clock.
func (t *Tokens) At(now func() time.Time) { t.now = now }
