package lab

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
)

// Spec says what a container is made of.
type Spec struct {
	Image      string
	Entrypoint []string
	Command    []string
	Env        map[string]string
	Ports      []int             // the container's, to be reached from the test's side
	Binds      []string          // host path:container path
	Tmpfs      map[string]string // container path to mount options
	User       string            // a name in the image, or uid:gid; empty is the image's own
	Domain     string            // in which others reach it by its name, too; empty for none
	Name       string            // by which others reach it; drawn when empty
	Networks   []string          // in place of the one that all containers of this process share
}

// Container is a container on this process's network.
type Container struct {
	tb    testing.TB // nil where it belongs to the whole process
	ID    string
	Name  string // by which other containers of this process reach it
	host  string
	ports map[int]int

	aliases []string
}

// Launch starts a container, which goes with the test.
func Launch(tb testing.TB, spec Spec) *Container {
	tb.Helper()
	c, err := launch(spec)
	if err != nil {
		tb.Fatal(err)
	}
	c.tb = tb
	tb.Cleanup(c.remove)
	return c
}

func (c *Container) remove() {
	if _, err := docker("rm", "-f", "-v", c.ID); err != nil {
		c.tb.Error(err)
	}
}

func launch(spec Spec) (*Container, error) {
	s, err := engine()
	if err != nil {
		return nil, err
	}
	on := spec.Networks
	if len(on) == 0 {
		shared, err := networks()
		if err != nil {
			return nil, err
		}
		on = []string{shared}
	}
	const attempts = 5 // another process may take a port that was free a moment ago
	for i := 0; ; i++ {
		c, err := s.create(spec, on)
		if err == nil || i == attempts || !strings.Contains(err.Error(), "port is already allocated") {
			return c, err
		}
	}
}

// create starts a container with its ports published where they stay when it is stopped and started again.
func (s *session) create(spec Spec, on []string) (*Container, error) {
	c := &Container{Name: spec.Name, ports: map[int]int{}}
	if c.Name == "" {
		c.Name = "lab-" + token(4)
	}
	bindings := network.PortMap{}
	free, err := freePorts(len(spec.Ports))
	if err != nil {
		return nil, err
	}
	for i, port := range spec.Ports {
		c.ports[port] = free[i]
		bindings[network.MustParsePort(strconv.Itoa(port)+"/tcp")] = []network.PortBinding{{HostIP: s.bind, HostPort: strconv.Itoa(free[i])}}
	}
	c.aliases = []string{c.Name}
	if spec.Domain != "" {
		c.aliases = append(c.aliases, c.Name+"."+spec.Domain)
	}
	names := map[string][]string{}
	for _, network := range on {
		names[network] = c.aliases
	}
	ctx, cancel := limited()
	defer cancel()
	made, err := testcontainers.GenericContainer(ctx, testcontainers.GenericContainerRequest{
		Started: true,
		ContainerRequest: testcontainers.ContainerRequest{
			Image: spec.Image, Entrypoint: spec.Entrypoint, Cmd: spec.Command, Env: spec.Env, Tmpfs: spec.Tmpfs,
			Labels: s.labels(), Networks: on, NetworkAliases: names,
			ExposedPorts: exposed(spec.Ports),
			ConfigModifier: func(cfg *container.Config) {
				if spec.User != "" {
					cfg.User = spec.User
				}
			},
			HostConfigModifier: func(cfg *container.HostConfig) {
				cfg.Binds = spec.Binds
				cfg.PortBindings = bindings
			},
		},
	})
	if err != nil {
		if made != nil {
			_, rmErr := docker("rm", "-f", "-v", made.GetContainerID())
			err = errors.Join(err, rmErr)
		}
		return nil, err
	}
	c.ID = made.GetContainerID()
	c.host, err = made.Host(ctx)
	return c, err
}

func exposed(ports []int) []string {
	var out []string
	for _, port := range ports {
		out = append(out, strconv.Itoa(port)+"/tcp")
	}
	return out
}

// freePorts are ports at which nobody listens, each a different one.
func freePorts(n int) ([]int, error) {
	var free []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }()
		free = append(free, l.Addr().(*net.TCPAddr).Port)
	}
	return free, nil
}

// Address is host:port at which the test reaches one of the container's published ports.
func (c *Container) Address(port int) string {
	return net.JoinHostPort(c.host, strconv.Itoa(c.ports[port]))
}

func (c *Container) must(args ...string) string {
	c.tb.Helper()
	out, err := docker(args...)
	if err != nil {
		c.tb.Fatal(err)
	}
	return out
}

// Stop ends the container's process by the signal that its image asks for, and waits; after 30 s it is killed.
func (c *Container) Stop() { c.tb.Helper(); c.must("stop", "-t", "30", c.ID) }

// Start starts a container that was stopped or killed. Its ports and files are what they were, but for those in memory.
func (c *Container) Start() { c.tb.Helper(); c.must("start", c.ID) }

// Kill ends the container's processes as a power cut would.
func (c *Container) Kill() { c.tb.Helper(); c.must("kill", c.ID) }

// Signal sends the container's first process a signal.
func (c *Container) Signal(name string) { c.tb.Helper(); c.must("kill", "-s", name, c.ID) }

// Pause freezes all of the container's processes at once.
func (c *Container) Pause() { c.tb.Helper(); c.must("pause", c.ID) }

// Unpause lets them go on.
func (c *Container) Unpause() { c.tb.Helper(); c.must("unpause", c.ID) }

// Exec runs a program in the container, as root, and returns what it prints; the test fails where the program does.
func (c *Container) Exec(args ...string) string {
	c.tb.Helper()
	return c.must(append([]string{"exec", c.ID}, args...)...)
}

// Logs is what the container printed so far.
func (c *Container) Logs() string {
	c.tb.Helper()
	out, err := c.logs()
	if err != nil {
		c.tb.Fatalf("%v: %s", err, out)
	}
	return out
}

func (c *Container) logs() (string, error) {
	out, err := exec.Command("docker", "logs", c.ID).CombinedOutput()
	return string(out), err
}

// State is running, paused, exited, …, and the exit code of one that has ended.
func (c *Container) State() (state string, code int) {
	c.tb.Helper()
	text := c.must("inspect", "-f", "{{.State.Status}} {{.State.ExitCode}}", c.ID)
	if _, err := fmt.Sscan(text, &state, &code); err != nil {
		c.tb.Fatalf("%q: %v", text, err)
	}
	return state, code
}

// Within waits until something is so, and fails the test when it is not so in time.
func Within(tb testing.TB, bound time.Duration, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(bound)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			tb.Fatalf("after %s it is not so that %s", bound, what)
		}
	}
}
