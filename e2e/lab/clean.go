package lab

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// farewell waits until its standard input ends, and removes what a session has.
const farewell = `
read -r _
containers=$(docker ps -aq --filter "label=$1")
[ -z "$containers" ] || docker rm -f -v $containers
networks=$(docker network ls -q --filter "label=$1")
[ -z "$networks" ] || docker network rm $networks
images=$(docker image ls -q --filter "label=$1")
[ -z "$images" ] || docker image rm -f $images
`

// watch starts a process that outlives this one just long enough to clean up after it. This one's end, be it a panic, a
// time-out's or a kill, is what closes the pipe between them.
func (s *session) watch() error {
	cmd := exec.Command("sh", "-c", farewell, "sh", labelSession+"="+s.id)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C is for the tests
	var err error
	if s.alive, err = cmd.StdinPipe(); err != nil {
		return err
	}
	// It has no output: the go command waits for whoever holds that of a test. Nobody waits for it either.
	return cmd.Start()
}

// stale is how long what a session has is left alone by other sessions; no test process lives so long.
const stale = time.Hour

// removeStale removes what sessions left whose watch was killed as well. It is nobody's duty that it succeeds.
func removeStale(now time.Time) {
	old := func(list ...string) (ids []string) {
		out, err := docker(append(list, "--filter", "label="+labelSession, "--format", `{{.ID}} {{.Label "`+labelStarted+`"}}`)...)
		if err != nil {
			return nil
		}
		for line := range strings.Lines(out) {
			id, started, _ := strings.Cut(strings.TrimSpace(line), " ")
			if at, err := strconv.ParseInt(started, 10, 64); err == nil && now.Sub(time.Unix(at, 0)) > stale {
				ids = append(ids, id)
			}
		}
		return ids
	}
	if ids := old("ps", "-a"); len(ids) > 0 {
		_, _ = docker(append([]string{"rm", "-f", "-v"}, ids...)...)
	}
	if ids := old("network", "ls"); len(ids) > 0 {
		_, _ = docker(append([]string{"network", "rm"}, ids...)...)
	}
	_, _ = docker("image", "prune", "-f", "--filter", "label="+labelSession, "--filter", "until="+stale.String())
}
