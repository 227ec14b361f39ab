package helmrender

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"berth/domain/fault"
)

// children are the processes that this one started and that are there still, dead ones that nobody waited for too.
func children(tb testing.TB) []string {
	tb.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may be gone
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// Not parallel, nor are its parts: what it counts are processes of this whole one.
//
// A chart that has no end, or no measure, takes its time and its memory and no more, and leaves no process behind.
func TestChartsWithoutMeasure(t *testing.T) {
	endless := `{{ range until 100000 }}{{ range until 100000 }}{{ $x := repeat 100 "x" | sha256sum }}{{ end }}{{ end }}`
	bomb := `{{ $x := repeat 1000000 "x" }}{{ $l := list }}{{ range until 2000 }}{{ $l = append $l (print $x .) }}{{ end }}kind: A`
	double := `{{ define "x" }}{{ if lt (len .) 1000000000 }}{{ include "x" (print . .) }}{{ end }}{{ end }}{{ include "x" "xxxxxxxxxx" }}`
	tpl := `{{ define "x" }}{{ tpl "{{ include \"x\" . }}" . }}{{ end }}{{ include "x" . }}`
	quick, patient := Config{Within: 2 * time.Second}, Config{Within: 10 * time.Second, Memory: 192 << 20}
	for _, c := range []struct {
		name, template, slug string
		config               Config
	}{
		{"loops", endless, "chart_too_slow", quick},
		{"a huge list", `{{ range until 2000000000 }}{{ end }}`, "manifest_too_large", patient},
		{"a huge text", `{{ repeat 2000000000 "x" }}`, "manifest_too_large", patient},
		{"a list of texts", bomb, "manifest_too_large", patient},
		{"a text that doubles", double, "manifest_too_large", patient},
		{"recursion by tpl", tpl, "manifest_too_large", patient},
		{"output", `{{ range until 200000 }}# a comment` + "\n" + `{{ end }}kind: A`, "manifest_too_large", patient},
	} {
		t.Run(c.name, func(t *testing.T) {
			began := time.Now()
			f := refused(t, c.config, job(packaged(t, chart(c.template))), c.slug)
			t.Logf("%v after %v", f, time.Since(began).Round(time.Millisecond))
			if left := children(t); len(left) > 0 {
				t.Errorf("processes are left: %v", left)
			}
		})
	}
}

// A package that unpacks to more than a chart is refused, at whatever depth, and so is one of too many files.
func TestPackagesThatAreBombs(t *testing.T) {
	t.Parallel()
	zeros := strings.Repeat("\x00", 17<<20)
	half := string(packaged(t, chart("kind: A\n").with("zeros", zeros[:9<<20])))
	many := chart("kind: A\n")
	for i := range 2100 {
		many[fmt.Sprintf("files/%d", i)] = ""
	}
	deep := chart("kind: A\n")
	for range 6 {
		deep = chart("kind: A\n").with("charts/db.tgz", string(packaged(t, deep)))
	}
	var trailing bytes.Buffer
	z := gzip.NewWriter(&trailing)
	_, _ = z.Write(make([]byte, 64<<20))
	_ = z.Close()
	for name, source := range map[string][]byte{
		"one file":           packaged(t, chart("kind: A\n").with("zeros", zeros)),
		"several within":     packaged(t, chart("kind: A\n").with("charts/a.tgz", half).with("charts/b.tgz", half)),
		"many files":         packaged(t, many),
		"package in package": packaged(t, deep),
		"nothing but zeros":  trailing.Bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, Config{}, job(source), "chart_invalid")
		})
	}
}

// A chart that asks for what changes from one moment or machine to another is refused, through whatever it asks.
func TestImpureChartsAreRefused(t *testing.T) {
	t.Parallel()
	for _, call := range []string{
		`now | date "2006"`, `randAlphaNum 8`, `uuidv4`, `genCA "x" 1`, `htpasswd "a" "b"`, `env "HOME"`, `expandenv "$HOME"`,
		`getHostByName "localhost"`, `bcrypt "x"`, `shuffle "abcdef"`, `tpl "{{ uuidv4 }}" .`, `date "2006" "x"`, `unixEpoch now`,
	} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			refused(t, Config{}, job(packaged(t, chart("kind: A\nx: {{ "+call+" }}\n"))), "chart_impure")
		})
	}
	// Where an address in memory is, no function says; printing it does.
	refused(t, Config{}, job(packaged(t, chart("kind: A\nx: {{ printf \"%p\" .Values }}\n"))), "chart_impure")
	// What is never called does no harm.
	rendered(t, job(packaged(t, chart("kind: A\n{{ if .Values.none }}x: {{ uuidv4 }}{{ end }}\n"))))
}

// No chart reaches this machine: there is no function that opens a socket or a file, and neither would succeed.
func TestNoChartReachesTheMachine(t *testing.T) {
	t.Parallel()
	var seen atomic.Int64
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			seen.Add(1)
			_ = c.Close()
		}
	})
	schema := `{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "http://` + l.Addr().String() + `/schema.json"}`
	c := chart("kind: A\nfile: {{ .Files.Get \"/etc/passwd\" }}{{ .Files.Get \"../../../etc/passwd\" }}\nfound: {{ len (lookup \"v1\" \"Pod\" \"\" \"\") }}\n").
		with("values.schema.json", schema).with("charts/db.tgz", string(packaged(t, chart("kind: B\n").with("values.schema.json", schema))))
	docs := rendered(t, job(packaged(t, c)))
	_ = l.Close()
	accepting.Wait()
	if seen.Load() != 0 || docs[len(docs)-1].Object["file"] != nil || docs[len(docs)-1].Object["found"] != int64(0) {
		t.Errorf("%d connections; %v", seen.Load(), docs)
	}
}

// Renderings take turns, so many at once; whoever waits and gives up is gone, and one that is given up ends at once.
func TestRenderingsTakeTurns(t *testing.T) {
	r := renderer(t, Config{AtOnce: 2, Within: time.Minute})
	endless := job(packaged(t, chart(`{{ range until 100000 }}{{ range until 100000 }}{{ $x := repeat 100 "x" | sha256sum }}{{ end }}{{ end }}`)))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for range 5 {
		running.Go(func() {
			if _, err := r.Render(ctx, endless); fault.SlugOf(err) != "render_unavailable" {
				t.Errorf("%v", err)
			}
		})
	}
	most := 0
	for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		most = max(most, len(children(t)))
	}
	if most != 2 {
		t.Errorf("%d at once", most)
	}
	began := time.Now()
	cancel()
	running.Wait()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to give up", took)
	}
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if _, err := r.Render(t.Context(), job(packaged(t, chart("kind: A\n")))); err != nil {
		t.Errorf("after all were given up: %v", err)
	}
}

// A child knows nothing of this process's environment, and is as far from its network as is permitted here.
func TestAChildIsApart(t *testing.T) {
	t.Setenv("BERTH_SECRET", "a word")
	r := renderer(t, Config{AtOnce: 1, Within: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		_, _ = r.Render(ctx, job(packaged(t, chart(`{{ range until 100000 }}{{ range until 100000 }}{{ $x := repeat 100 "x" | sha256sum }}{{ end }}{{ end }}`))))
	})
	defer running.Wait()
	defer cancel()
	var env, limits string
	var child string
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(limits, "Max open files            0"); <-time.After(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no child gave up its files:\n%s", limits)
		}
		if all := children(t); len(all) == 1 {
			child = all[0]
			e, _ := os.ReadFile("/proc/" + child + "/environ")
			l, _ := os.ReadFile("/proc/" + child + "/limits")
			env, limits = string(e), string(l)
		}
	}
	if strings.Contains(env, "BERTH") || strings.Contains(env, "HOME") {
		t.Errorf("its environment is %q", env)
	}
	if !strings.Contains(status(t, child), "NoNewPrivs:\t1") {
		t.Error("it may get new privileges")
	}
	mine, _ := os.Readlink("/proc/self/ns/net")
	its, err := os.Readlink("/proc/" + child + "/ns/net")
	permitted := int(r.isolation.level.Load()) < len(levels())-1
	if err != nil || permitted != (its != mine) {
		t.Errorf("its network is %s and mine is %s, where one of its own is permitted: %v, %v", its, mine, permitted, err)
	}
	fds, _ := os.ReadDir("/proc/" + child + "/fd")
	var open []string
	for _, fd := range fds {
		to, _ := os.Readlink("/proc/" + child + "/fd/" + fd.Name())
		open = append(open, to)
	}
	if slices.ContainsFunc(open, func(to string) bool { return strings.HasPrefix(to, "socket:") || strings.HasPrefix(to, "/home") }) {
		t.Errorf("it holds %v", open)
	}
	t.Logf("level %d of isolation, holding %v", r.isolation.level.Load(), open)
}

func status(t *testing.T, process string) string {
	t.Helper()
	text, err := os.ReadFile("/proc/" + process + "/status")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Where no namespace is permitted, a chart is rendered without; what was refused once is not tried again.
func TestWithoutNamespaces(t *testing.T) {
	t.Parallel()
	r := renderer(t, Config{})
	r.isolation.level.Store(int32(len(levels()) - 1))
	if docs, err := r.Render(t.Context(), job(packaged(t, chart("kind: A\n")))); err != nil || len(docs) != 1 {
		t.Errorf("%v, %v", docs, err)
	}
}

// BenchmarkRender is a small chart with its process.
func BenchmarkRender(b *testing.B) {
	r := renderer(b, Config{})
	j := job(packaged(b, chart("kind: A\nname: {{ .Release.Name }}\n")))
	for b.Loop() {
		if _, err := r.Render(b.Context(), j); err != nil {
			b.Fatal(err)
		}
	}
}
