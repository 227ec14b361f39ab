package lab

import (
	"os"
	"os/exec"
	"strings"
)

// Cut drops every packet between this container and another one, in both directions and without telling either, and
// leaves its other connections alone. The rules are set from outside in the container's own network namespace, with
// nsenter and iptables, which an engine on the same machine needs itself; it takes root, or sudo without a password.
func (c *Container) Cut(from *Container) { c.tb.Helper(); c.filter(from, "-I") }

// Heal lets the packets through again.
func (c *Container) Heal(from *Container) { c.tb.Helper(); c.filter(from, "-D") }

func (c *Container) filter(from *Container, change string) {
	c.tb.Helper()
	peer := from.must("inspect", "-f", "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", from.ID)
	pid := c.must("inspect", "-f", "{{.State.Pid}}", c.ID)
	for address := range strings.FieldsSeq(peer) {
		for _, rule := range [][]string{{"INPUT", "-s", address}, {"OUTPUT", "-d", address}} {
			args := append([]string{"nsenter", "-t", pid, "-n", "iptables", "-w", change}, append(rule, "-j", "DROP")...)
			if os.Getuid() != 0 {
				args = append([]string{"sudo", "-n"}, args...)
			}
			if _, err := run(exec.Command(args[0], args[1:]...)); err != nil {
				c.tb.Fatalf("a container is cut off by root on the engine's own machine: %v", err)
			}
		}
	}
}
