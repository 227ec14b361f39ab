package lab

import (
	"os/exec"
	"path/filepath"
)

// Image builds the image of one of Berth's binaries as it is shipped, for this process, and returns its id.
func Image(name string) (string, error) {
	s, err := engine()
	if err != nil {
		return "", err
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	args := []string{name, "e2e"}
	for label, value := range s.labels() {
		args = append(args, "--label", label+"="+value)
	}
	return run(exec.Command(filepath.Join(root, ".ci", "image"), args...))
}
