package dev

import "syscall"

// tied makes a child end with this process, however that ends, and keeps the terminal's Ctrl-C from it: it is stopped in
// its turn.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
