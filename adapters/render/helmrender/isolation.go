package helmrender

import (
	"errors"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
)

// isolation is how far a child is kept from the machine: in namespaces of its own, with no network but a loopback that is
// down, where the kernel and whoever runs this process permit it. Where nobody does, the child still can not open a socket
// by the time that it reads a chart.
type isolation struct{ level atomic.Int32 }

const apart = syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | syscall.CLONE_NEWPID

// levels go from the farthest to none.
func levels() []func(*syscall.SysProcAttr) {
	return []func(*syscall.SysProcAttr){
		func(a *syscall.SysProcAttr) {
			a.Cloneflags = syscall.CLONE_NEWUSER | apart
			a.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getuid(), Size: 1}}
			a.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getgid(), Size: 1}}
		},
		func(a *syscall.SysProcAttr) { a.Cloneflags = apart },
		func(*syscall.SysProcAttr) {},
	}
}

const nobody = 65534

// start starts what build makes, as far apart as is permitted. What was not permitted once is not tried again.
func (i *isolation) start(build func() *exec.Cmd) (*exec.Cmd, error) {
	all := levels()
	for {
		at := i.level.Load()
		cmd := build()
		all[at](cmd.SysProcAttr)
		err := cmd.Start()
		if err == nil || !notPermitted(err) || int(at) == len(all)-1 {
			return cmd, err
		}
		i.level.CompareAndSwap(at, at+1)
	}
}

func notPermitted(err error) bool {
	for _, why := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSPC, syscall.ENOSYS, syscall.EUSERS} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}
