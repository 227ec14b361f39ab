package child

import (
	"fmt"
	"runtime/debug"

	"golang.org/x/sys/unix"

	"berth/adapters/render/helmrender/exchange"
)

// maxStack bounds recursion, in bytes; Go's own limit is more than the memory that there is.
const maxStack = 64 << 20

// confine takes away from this process what no chart needs: memory and time without end, new privileges, and every file
// and socket that is not open already.
func confine(l exchange.Limits) error {
	debug.SetMaxStack(maxStack)
	if l.Memory > 0 {
		debug.SetMemoryLimit(int64(l.Memory / 4 * 3))
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	for _, limit := range []struct {
		resource int
		most     uint64
		wanted   bool
	}{
		{unix.RLIMIT_DATA, l.Memory, l.Memory > 0},
		{unix.RLIMIT_CPU, l.CPU, l.CPU > 0},
		{unix.RLIMIT_CORE, 0, true},
		{unix.RLIMIT_FSIZE, 0, true},
		{unix.RLIMIT_NOFILE, 0, true}, // what is open stays so
	} {
		if !limit.wanted {
			continue
		}
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: limit.most, Max: limit.most}); err != nil {
			return fmt.Errorf("limiting resource %d: %w", limit.resource, err)
		}
	}
	return nil
}
