package lab

import "testing"

// NewNetwork makes a network of its own, which goes with the test, and returns its name. A container is reached by its
// name on each of its networks, and on no other.
func NewNetwork(tb testing.TB) string {
	tb.Helper()
	s, err := engine()
	if err != nil {
		tb.Fatal(err)
	}
	name := "berth-lab-" + s.id + "-" + token(4)
	if err := s.makeNetwork(name); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if _, err := docker("network", "rm", "-f", name); err != nil {
			tb.Error(err)
		}
	})
	return name
}

func (s *session) makeNetwork(name string) error {
	args := []string{"network", "create"}
	for label, value := range s.labels() {
		args = append(args, "--label", label+"="+value)
	}
	_, err := docker(append(args, name)...)
	return err
}

// Join puts the container on one more network, until the test ends.
func (c *Container) Join(tb testing.TB, network string) {
	tb.Helper()
	args := []string{"network", "connect"}
	for _, alias := range c.aliases {
		args = append(args, "--alias", alias)
	}
	if _, err := docker(append(args, network, c.ID)...); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _, _ = docker("network", "disconnect", "-f", network, c.ID) }) // it may be gone
}
