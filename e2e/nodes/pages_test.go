package nodes_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"berth/e2e/harness"
)

var walk = regexp.MustCompile("(?s)<!-- A test runs these lines. -->\n```sh\n(.*?)```")

// lines are what a page in docs has a test run, before and after a heading.
func lines(t *testing.T, page, heading string) (before, after string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
	must(t, err)
	head, tail, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("%s has no %q", page, heading)
	}
	script := func(part string) string {
		var out strings.Builder
		for _, block := range walk.FindAllStringSubmatch(part, -1) {
			out.WriteString(block[1])
		}
		return out.String()
	}
	return script(head), script(tail)
}

// The pages for operators are run word for word, in one shell: the ingress is put up, nodes are enrolled, rotated, revoked,
// cloned and replaced, the ingress's own secrets rotated beneath a living node, and everything stopped.
func TestPages(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	up, rest := lines(t, "ingress.md", "## Rotate the secret")
	nodes, stopped := lines(t, "nodes.md", "## Stop a node")
	// While the ingress page rotates what the ingress has, a node lives behind it.
	const alive = "until page | grep '\"ready\":true' && api /nodes/n1 | grep '\"state\":\"live\"'; do sleep 0.2; done\n"
	rotate, down, _ := strings.Cut(rest, "kill \"$(cat \"$D/ingress.pid\")\"; while")
	whole := up + nodes + rotate + alive + stopped + "kill \"$(cat \"$D/ingress.pid\")\"; while" + down
	must(t, os.WriteFile(script, []byte(whole), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-eu", "-o", "pipefail", script)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + filepath.Dir(harness.Program(t, "berth-relay")) + ":" + os.Getenv("PATH"), "HOME=" + dir,
		// What the pages wait for comes sooner.
		"BERTH_LEASE_DURATION=4s", "BERTH_LEASE_MARGIN=1s", "BERTH_INGRESS_TRUST_BUNDLE_REFRESH=1s",
	}
	addresses := harness.FreeAddresses(t, 6)
	for i, name := range []string{"API", "INGRESS", "PAGE", "ENROLL", "NODE_PAGE", "DEVICES"} {
		cmd.Env = append(cmd.Env, name+"="+addresses[i])
	}
	harness.Tied(t, cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, want := range []string{`"may_write":true`, `"state":"pending"`, `"state":"done"`, `"ready":true`, "another process is this node by now"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the pages did not print %s:\n%s", want, out)
		}
	}
}
