package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"berth/adapters/apiclient"
	"berth/adapters/contract"
)

// devInfo is dev.json, read as any other program would.
type devInfo struct {
	API, Internal, Enroll, Metrics, Tenant, Region string
	OperatorToken                                  string `json:"operator_token"`
	Nodes                                          []string
}

// devRun is a running berthd dev.
type devRun struct {
	*process
	devInfo
	operator apiclient.Operator
	device   apiclient.Device
}

func startDev(tb testing.TB, dir string, args ...string) *devRun {
	tb.Helper()
	args = append([]string{"dev", "--port=0", "--metrics-port=0", "--pace=0s"}, args...)
	r := &devRun{process: start(tb, dir, besideDev(tb), args...)}
	state := filepath.Join(dir, ".berth")
	text, err := os.ReadFile(filepath.Join(state, "dev.json"))
	if err != nil {
		tb.Fatal(err)
	}
	if err := json.Unmarshal(text, &r.devInfo); err != nil {
		tb.Fatal(err)
	}
	pem, err := os.ReadFile(filepath.Join(state, "ca.pem"))
	if err != nil {
		tb.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	client, err := apiclient.New(apiclient.Options{Base: r.API, CA: pool, Proof: apiclient.Bearer(r.OperatorToken)})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(client.Close)
	r.operator, r.device = apiclient.NewOperator(client), apiclient.NewDevice(client)
	return r
}

// besideDev is the environment of a berthd dev, in which it finds the programs that run beside it.
func besideDev(tb testing.TB) []string { return []string{"BERTH_DEV_BIN=" + buildSiblings(tb)} }

func (r *devRun) show() contract.Tenant {
	r.tb.Helper()
	return must(r.operator.Tenant(r.tb.Context(), r.Tenant))(r.tb)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return v
	}
}

// begin begins to move the tenant to the other node.
func (r *devRun) begin() contract.Migration {
	r.tb.Helper()
	other := r.Nodes[0]
	if r.show().Placement.Node == other {
		other = r.Nodes[1]
	}
	return must(r.operator.BeginMigration(r.tb.Context(), r.Tenant, contract.NewMigration{TargetNode: other}))(r.tb)
}

// move moves the tenant to the other node and watches it to its end.
func (r *devRun) move() contract.Migration { return r.watch(r.begin(), "done") }

// watch watches a migration until it is in a state, or has ended. A wait ends with the next change, so that a state in
// between is looked for without one.
func (r *devRun) watch(m contract.Migration, state string) contract.Migration {
	r.tb.Helper()
	wait := time.Duration(0)
	if state == "done" {
		wait = 5 * time.Second
	}
	look := time.NewTicker(5 * time.Millisecond) // far below what one address may ask
	defer look.Stop()
	for late := time.Now().Add(patience); m.State != state && m.EndedAt == nil; <-look.C {
		if time.Now().After(late) {
			r.tb.Fatalf("the migration does not go on: %+v", m)
		}
		m = must(r.operator.Migration(r.tb.Context(), r.Tenant, m.ID, wait))(r.tb)
	}
	return m
}

// pair pairs a phone and returns its principal.
func (r *devRun) pair() string {
	r.tb.Helper()
	code := must(r.operator.PairingCode(r.tb.Context(), r.Tenant, "owner"))(r.tb)
	d := must(r.device.Pair(r.tb.Context(), contract.NewDevice{
		PairingCode: code.Code, Name: "phone", Kind: "phone", PublicKey: "jNFxNNfCTmmDeQhW0P3TGEyEZ1oZXk5oB1VZ1YcCzV8",
	}))(r.tb)
	if d.Tenant != r.Tenant || len(d.RouteHandles) == 0 {
		r.tb.Fatalf("paired %+v", d)
	}
	return d.Principal
}

// berthd dev shows all that there is: a tenant moves to the other node and back over a restart, a phone is paired and
// revoked, and the state survives. It stops well when it is interrupted.
func TestDev(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := startDev(t, dir)
	if m := r.move(); m.State != "done" || m.Generation != 1 {
		t.Fatalf("the migration ended as %+v", m)
	}
	moved := r.show()
	if p := moved.Placement; p == nil || p.Generation != 2 || p.State != "active" {
		t.Fatalf("the tenant is placed as %+v", p)
	}
	phone := r.pair()
	before := r.show().Authorization.Revision
	if out := must(r.operator.Revoke(t.Context(), r.Tenant, phone))(t); out.Revision != before+1 {
		t.Fatalf("the revoke made revision %d of %d", out.Revision, before)
	}
	r.wholeAudit()
	token := r.OperatorToken
	r.stop()

	r = startDev(t, dir)
	if r.OperatorToken != token {
		t.Error("the restart made another token")
	}
	if now := r.show(); now.Placement.Node != moved.Placement.Node || now.Placement.Generation != 2 ||
		now.Authorization.Revision != before+1 {
		t.Errorf("after the restart the tenant is %+v %+v", now.Placement, now.Authorization)
	}
	list := must(r.operator.Principals(t.Context(), r.Tenant, apiclient.Page{}))(t)
	if len(list.Principals) != 1 || list.Principals[0].ID != phone || list.Principals[0].Status != "revoked" {
		t.Errorf("after the restart the principals are %+v", list.Principals)
	}
	if m := r.move(); m.State != "done" || m.Generation != 2 {
		t.Errorf("the migration back ended as %+v", m)
	}
	r.wholeAudit()
	r.stop()
	r.keptPrivate(dir)
}

// A migration in whose midst everything was killed goes on after a restart, from each state that it can be seen in.
func TestDevKilledInTheMidst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, state := range []string{"preparing", "quiescing", "copying", "draining"} {
		r := startDev(t, dir, "--pace=400ms")
		m := r.watch(r.begin(), state)
		if m.State != state {
			t.Fatalf("the migration passed %s unseen: it is %s", state, m.State)
		}
		children := []int{r.child("ingress"), r.child("n1"), r.child("n2")}
		if err := r.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-r.ended
		noOrphans(t, children)
		r = startDev(t, dir)
		if m = r.watch(m, "done"); m.State != "done" {
			t.Fatalf("killed while %s it ended as %+v", state, m)
		}
		if p := r.show().Placement; p.Node != m.TargetNode || p.Generation != int64(i+2) {
			t.Fatalf("killed while %s: the tenant is %+v", state, p)
		}
		r.wholeAudit()
		r.stop()
	}
}

// child is the process id of a program that runs beside berthd dev, of its last start.
func (r *devRun) child(name string) int {
	r.tb.Helper()
	all := regexp.MustCompile(`msg="a program runs" program=`+name+` pid=(\d+)`).FindAllStringSubmatch(r.errors.String(), -1)
	if len(all) == 0 {
		r.tb.Fatalf("nothing is said of %s:\n%s", name, r.errors.String())
	}
	return must(strconv.Atoi(all[len(all)-1][1]))(r.tb)
}

// noOrphans waits until none of the processes is there any more.
func noOrphans(t *testing.T, pids []int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // elsewhere nothing ends a child whose parent was killed
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for _, pid := range pids {
		for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !zombie(pid) {
			select {
			case <-tick.C:
			case <-late:
				t.Fatalf("process %d lives on after berthd dev was killed", pid)
			}
		}
	}
}

// zombie says whether a process has ended, and nobody has asked yet with what: in a container there may be nobody to.
func zombie(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	_, rest, _ := strings.Cut(string(stat), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

// A node that is killed in the midst of a migration is started again, which is said, and carries the migration on; the
// ingress likewise.
func TestDevRestartsWhatIsKilled(t *testing.T) {
	t.Parallel()
	r := startDev(t, t.TempDir(), "--pace=400ms")
	for i, state := range []string{"quiescing", "copying", "draining"} {
		m := r.watch(r.begin(), state)
		if m.State != state {
			t.Fatalf("the migration passed %s unseen: it is %s", state, m.State)
		}
		for _, name := range []string{m.SourceNode, m.TargetNode, "ingress"} {
			if err := syscall.Kill(r.child(name), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if m = r.watch(m, "done"); m.State != "done" {
			t.Fatalf("with both nodes killed while %s it ended as %+v", state, m)
		}
		if p := r.show().Placement; p.Node != m.TargetNode || p.Generation != int64(i+2) {
			t.Fatalf("with both nodes killed while %s the tenant is %+v", state, p)
		}
	}
	for _, name := range []string{"n1", "n2", "ingress"} {
		if again := `is started again" program=` + name; strings.Count(r.errors.String(), again) != 3 {
			t.Errorf("it is not said three times that %s is started again:\n%s", name, r.errors.String())
		}
	}
	r.wholeAudit()
	r.stop()
}

// Without the programs that run beside it berthd dev says what is missing and what to do.
func TestDevAlone(t *testing.T) {
	t.Parallel()
	p := launch(t, t.TempDir(), []string{"BERTH_DEV_BIN=" + t.TempDir()}, "dev", "--port=0", "--metrics-port=0")
	<-p.ended
	if said := p.errors.String(); p.err == nil || !strings.Contains(said, "berth-ingress and berth-relay") || !strings.Contains(said, "make build") {
		t.Errorf("ended with %v, saying %s", p.err, said)
	}
}

func (r *devRun) wholeAudit() {
	r.tb.Helper()
	if v := must(r.operator.VerifyAudit(r.tb.Context()))(r.tb); !v.Whole || v.Entries == 0 {
		r.tb.Fatalf("the audit log is %+v", v)
	}
}

// keptPrivate looks for what others could read and is not for everybody, and for the token where it should not be.
func (r *devRun) keptPrivate(dir string) {
	r.tb.Helper()
	err := filepath.WalkDir(filepath.Join(dir, ".berth"), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Stat(path)
		if err == nil && filepath.Base(path) != "trust-bundle.pem" && info.Mode().Perm()&0o077 != 0 {
			r.tb.Errorf("%s is open to others: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		r.tb.Fatal(err)
	}
	if strings.Contains(r.errors.String(), r.OperatorToken) {
		r.tb.Error("the log shows the token")
	}
}

// dev.json has every key that the outer contract names, in any version.
func TestDevJSON(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir).stop()
	text, err := os.ReadFile(filepath.Join(dir, ".berth", "dev.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"api", "internal", "enroll", "connect", "metrics", "operator_token", "tenant", "region", "nodes", "customer", "license_key",
		"install_id",
	} {
		if all[key] == nil {
			t.Errorf("dev.json lacks %s", key)
		}
		delete(all, key)
	}
	if len(all) > 0 {
		t.Errorf("dev.json has more: %v", all)
	}
}

// The lines that berthd dev prints for a shell do what they say. Where there is no curl, nobody can follow them, and
// what they ask is asked by TestDev.
func TestDevWalkthrough(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("there is no curl on this machine")
		return
	}
	dir := t.TempDir()
	r := startDev(t, dir)
	_, rest, _ := strings.Cut(r.out.String(), "no command line does):\n")
	script, _, _ := strings.Cut(rest, "\nready\n")
	cmd := exec.Command("sh", "-e")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	for _, part := range []string{`"nodes":[`, `"state":"done"`, `"status":"active","name":"phone"`, `{"revision":3,`, `"whole":true`, "berthctl connect [command]"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("the lines do not show %s:\n%s", part, out)
		}
	}
	r.stop()
}

// A second berthd dev in one directory is refused, and a port that is taken is not in the way.
func TestDevBesideAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := startDev(t, dir)
	second := launch(t, dir, besideDev(t), "dev", "--port=0", "--metrics-port=0")
	<-second.ended
	if second.err == nil || !strings.Contains(second.errors.String(), "another berthd dev runs in") {
		t.Errorf("the second ended with %v, saying %s", second.err, second.errors.String())
	}
	port := first.API[strings.LastIndexByte(first.API, ':')+1:]
	elsewhere := start(t, t.TempDir(), besideDev(t), "dev", "--port="+port, "--metrics-port=0")
	if !strings.Contains(elsewhere.out.String(), "note: port "+port+" is taken") {
		t.Errorf("nothing is said of the port that is taken:\n%s", elsewhere.out.String())
	}
	elsewhere.stop()
	first.stop()
}

// A key of the last run that others can read by now is refused.
func TestDevRefusesOpenKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	startDev(t, dir).stop()
	for _, name := range []string{"ca-key.pem", "ingress-secrets.json"} {
		path := filepath.Join(dir, ".berth", name)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		p := launch(t, dir, besideDev(t), "dev", "--port=0", "--metrics-port=0")
		<-p.ended
		if p.err == nil || !strings.Contains(p.errors.String(), "is open to others") {
			t.Errorf("%s: ended with %v, saying %s", name, p.err, p.errors.String())
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
