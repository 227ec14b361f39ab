package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/testcontainers/testcontainers-go/log"
)

// session is what this process has on the engine: everything that it makes is labelled by it.
type session struct {
	id      string
	started time.Time
	alive   io.Closer  // held open as long as this process lives
	bind    netip.Addr // where ports are published; the zero address is everywhere
}

var (
	engine   = sync.OnceValues(open)
	networks = sync.OnceValues(openNetwork)
)

const (
	labelSession = "berth.lab.session"
	labelStarted = "berth.lab.started" // Unix seconds
)

// open makes an engine answer, and sees to it that nothing of this process outlives it there.
func open() (*session, error) {
	if _, err := script("docker"); err != nil {
		return nil, err
	}
	if err := settle(); err != nil {
		return nil, err
	}
	s := &session{id: token(6), started: time.Now()}
	if onLoopback() {
		s.bind = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	removeStale(s.started)
	return s, s.watch()
}

// settle tells testcontainers what it would guess wrongly.
func settle() error {
	log.SetDefault(log.NewNoopLogger())
	// Its reaper is an image that has to be pulled; watch does the same without one.
	if os.Getenv("TESTCONTAINERS_RYUK_DISABLED") == "" {
		if err := os.Setenv("TESTCONTAINERS_RYUK_DISABLED", "true"); err != nil {
			return err
		}
	}
	if os.Getenv("TESTCONTAINERS_HOST_OVERRIDE") == "" && engineIsHere() {
		return os.Setenv("TESTCONTAINERS_HOST_OVERRIDE", "127.0.0.1")
	}
	return nil
}

// engineIsHere says whether the engine runs on this very machine. Testcontainers takes a machine that is itself a
// container for one whose engine is outside, and would look for published ports at its gateway.
func engineIsHere() bool {
	here, err := os.Hostname()
	if err != nil || !byUnixSocket() {
		return false
	}
	there, err := docker("info", "--format", "{{.Name}}")
	return err == nil && there == here
}

func byUnixSocket() bool {
	host := os.Getenv("DOCKER_HOST")
	return host == "" || strings.HasPrefix(host, "unix:")
}

// onLoopback says whether ports that are published on loopback alone are within this process's reach; nobody else needs
// to be let in then.
func onLoopback() bool {
	_, err := os.Stat("/.dockerenv")
	contained := err == nil
	return engineIsHere() || byUnixSocket() && !contained
}

// Root is the directory of go.mod.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no go.mod here or above; tests are run in the repository")
		}
		dir = up
	}
}

// script runs one of the scripts beside this file and returns what it prints.
func script(name string, args ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	return run(exec.Command(filepath.Join(root, "e2e", "lab", name), args...))
}

func docker(args ...string) (string, error) { return run(exec.Command("docker", args...)) }

// run returns what a command prints; an error carries what it complained of.
func run(cmd *exec.Cmd) (string, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(cmd.Args, " "), err, out.Bytes(), complaint.Bytes())
	}
	return strings.TrimSpace(out.String()), nil
}

func (s *session) labels() map[string]string {
	return map[string]string{labelSession: s.id, labelStarted: strconv.FormatInt(s.started.Unix(), 10)}
}

// openNetwork makes the network on which the containers of this process find one another by name.
func openNetwork() (string, error) {
	s, err := engine()
	if err != nil {
		return "", err
	}
	name := "berth-lab-" + s.id
	return name, s.makeNetwork(name)
}

// limit bounds what the engine is asked to do.
const limit = 2 * time.Minute

func limited() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), limit)
}

func token(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}
