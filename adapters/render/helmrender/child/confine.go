package child

import (
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

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
		debug.SetMemoryLimit(l.Memory / 4 * 3)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	for _, limit := range []struct {
		resource int
		most     int64
		wanted   bool
	}{
		{unix.RLIMIT_DATA, mapped() + l.Memory, l.Memory > 0},
		{unix.RLIMIT_CPU, l.CPU, l.CPU > 0},
		{unix.RLIMIT_CORE, 0, true},
		{unix.RLIMIT_FSIZE, 0, true},
		{unix.RLIMIT_NOFILE, 0, true}, // what is open stays so
	} {
		if !limit.wanted {
			continue
		}
		most := uint64(max(limit.most, 0))
		if err := unix.Setrlimit(limit.resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limiting resource %d: %w", limit.resource, err)
		}
	}
	return nil
}

// mapped is how much data this process has mapped already, in bytes; much of it by the runtime, and used by nobody.
func mapped() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 6 {
		return 1 << 30
	}
	pages, err := strconv.ParseInt(fields[5], 10, 64)
	if err != nil {
		return 1 << 30
	}
	return pages * int64(os.Getpagesize())
}
