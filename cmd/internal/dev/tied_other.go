//go:build !linux

package dev

import "syscall"

// tied keeps the terminal's Ctrl-C from a child, which is stopped in its turn. Only Linux also ends a child with this
// process where that is killed.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
