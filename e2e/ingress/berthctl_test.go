package ingress_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"berth/adapters/apiclient"
	"berth/adapters/ingress/proof"
	"berth/adapters/ingress/proof/prooftest"
	"berth/e2e/harness"
)

// berthctl is built once, as it is shipped.
var berthctl = sync.OnceValues(func() (string, error) {
	dir, err := harness.Workshop()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "berthctl")
	if out, err := exec.Command("go", "build", "-o", bin, "berth/cmd/berthctl").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	return bin, nil
})

func (d *deployment) verify(t *testing.T, ingress *proof.Endpoint, more ...string) *exec.Cmd {
	t.Helper()
	bin, err := berthctl()
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"ingress", "verify", "--ingress", ingress.Address, "--enroll", "https://" + d.site.Enroll.Address, "--api-ca", d.path("ca.pem"), "--yes",
	}, more...)
	cmd := exec.Command(bin, args...)
	cmd.Env = []string{"BERTH_URL=https://" + d.site.API.Address, "BERTH_TOKEN=" + d.token}
	return cmd
}

// walk are the lines of a page that a test runs.
var walk = regexp.MustCompile("(?s)<!-- A test runs these lines. -->\n```sh\n(.*?)```")

// An operator proves a real deployment from outside by the lines of the page, keeps the report, and leaves nothing behind.
// The report names what was not proven, and no secret.
func verified(t *testing.T, d *deployment) {
	page, err := os.ReadFile("../../docs/ingress-verify.md")
	must(t, err)
	lines := walk.FindSubmatch(page)
	if lines == nil {
		t.Fatal("the page has no lines to run")
	}
	cmd := d.verify(t, d.site.Ingress)
	dir := t.TempDir()
	cmd.Env = append(cmd.Env, "PATH="+filepath.Dir(cmd.Path)+":"+os.Getenv("PATH"), "INGRESS="+d.site.Ingress.Address, "REGION="+region,
		"ENROLL_URL=https://"+d.site.Enroll.Address, "METRICS=https://"+d.site.Metrics.Address, "INTERNAL=unix:"+d.site.Internal.Address, "CA="+d.path("ca.pem"))
	sh := exec.Command("bash", "-euc", string(lines[1]))
	sh.Env, sh.Dir = cmd.Env, dir
	out, err := sh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	data, err := os.ReadFile(filepath.Join(dir, "ingress-report.json"))
	must(t, err)
	var r proof.Report
	must(t, json.Unmarshal(data, &r))
	if r.Verdict != proof.NotProven || r.Counts[proof.Failed] > 0 || r.Counts[proof.Proven] < 1500 || len(r.LeftBehind) > 0 {
		t.Errorf("the report says %s, %v, left behind %v\n%s", r.Verdict, r.Counts, r.LeftBehind, out)
	}
	for _, p := range r.Probes {
		if p.Verdict == proof.NotProven && p.Why == "" {
			t.Errorf("%s is not proven, and nothing says why", p.ID)
		}
	}
	for _, text := range []string{string(data), string(out)} {
		if strings.Contains(text, d.token) || strings.Contains(text, "PRIVATE") {
			t.Error("a secret was told")
		}
	}
	d.retired(t, r.Nodes)
}

// retired checks that nothing of a run is in force any more.
func (d *deployment) retired(t *testing.T, nodes []string) {
	t.Helper()
	if len(nodes) == 0 {
		t.Error("no node is named")
	}
	for _, id := range nodes {
		n, err := d.operator.Node(t.Context(), id)
		must(t, err)
		list, err := d.operator.Credentials(t.Context(), id)
		must(t, err)
		for _, c := range list.Credentials {
			if c.State == "current" || c.State == "prepared" {
				t.Errorf("the certificate %s of %s is %s", c.Fingerprint, id, c.State)
			}
		}
		if n.Status != "retired" || n.Capacity.Tenants != 0 || n.Schedulable {
			t.Errorf("%s is left behind: %+v", id, n)
		}
	}
}

// A terminator that leaks is told by the exit code, and so is a run that was stopped; both clean up.
func leaking(t *testing.T, d *deployment) {
	cmd := d.verify(t, d.leaky(t, prooftest.Leaks{KeepsAssertion: true}), "--only", "ingress.headers", "--json")
	out, err := cmd.Output()
	var r proof.Report
	must(t, json.Unmarshal(out, &r))
	if code(err) != 1 || r.Verdict != proof.Failed || len(r.LeftBehind) > 0 {
		t.Errorf("exit code %d, %s, left behind %v", code(err), r.Verdict, r.LeftBehind)
	}
	d.retired(t, r.Nodes)
}

func interrupted(t *testing.T, d *deployment) {
	report := filepath.Join(t.TempDir(), "report.json")
	cmd := d.verify(t, d.site.Ingress, "--report", report)
	must(t, cmd.Start())
	within(t, "its nodes are made", d.ingress, func() bool {
		all, err := d.operator.Nodes(t.Context(), region, apiclient.Page{Limit: 200})
		must(t, err)
		retired := 0
		for _, n := range all.Nodes {
			if strings.HasSuffix(n.ID, "-retired") && n.Status == "retired" {
				retired++
			}
		}
		return retired == 2 // that of the deployment's own proof, and this one
	})
	must(t, cmd.Process.Signal(syscall.SIGINT))
	if err := cmd.Wait(); code(err) != 3 {
		t.Errorf("exit code %d", code(err))
	}
	data, err := os.ReadFile(report)
	must(t, err)
	var r proof.Report
	must(t, json.Unmarshal(data, &r))
	d.retired(t, r.Nodes)
}

func code(err error) int {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		return -1
	}
	return 0
}
