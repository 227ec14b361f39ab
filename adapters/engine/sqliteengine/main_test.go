package sqliteengine_test

import (
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"
)

// role names what a child of the tests is to do, in the directory that it is given.
const (
	roleVariable = "SQLITEENGINE_TEST_ROLE"
	dirVariable  = "SQLITEENGINE_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "append":
		appendUntilKilled(os.Getenv(dirVariable))
	case "full":
		os.Exit(fillUp(os.Getenv(dirVariable)))
	case "descriptors":
		os.Exit(withoutDescriptors(os.Getenv(dirVariable)))
	default:
		goleak.VerifyTestMain(m)
	}
}

// child is this program in a role.
func child(tb testing.TB, role, dir string) *exec.Cmd {
	tb.Helper()
	c := exec.CommandContext(tb.Context(), os.Args[0])
	c.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	c.Stderr = os.Stderr
	return c
}
