package helmrender

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"berth/adapters/render/helmrender/child"
	"berth/domain/fault"
	"berth/ports/render"
)

// asChild makes this test's own binary the child, as berthd is its own.
const asChild = "render-chart"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asChild {
		if err := child.Main(os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func renderer(tb testing.TB, c Config) *Renderer {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	if c.Program == "" {
		// The race detector ends a process that has no more memory with a code of its own.
		c.Program, c.Args = "/usr/bin/env", []string{"GORACE=exitcode=2", self, asChild}
	}
	return New(c)
}

// files are a chart's, by their names within it.
type files map[string]string

const metadata = "apiVersion: v2\nname: shop\nversion: 1.0.0\n"

// chart is a chart of one template.
func chart(template string) files {
	return files{"Chart.yaml": metadata, "templates/a.yaml": template}
}

func (f files) with(name, text string) files {
	c := maps.Clone(f)
	c[name] = text
	return c
}

// packaged is what helm package makes of a chart.
func packaged(tb testing.TB, f files) []byte {
	tb.Helper()
	var headers []entry
	for _, name := range slices.Sorted(maps.Keys(f)) {
		headers = append(headers, entry{tar.Header{Name: "shop/" + name, Typeflag: tar.TypeReg, Mode: 0o644}, f[name]})
	}
	return archived(tb, headers...)
}

type entry struct {
	tar.Header
	text string
}

func archived(tb testing.TB, entries ...entry) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, e := range entries {
		e.Size = int64(len(e.text))
		if err := w.WriteHeader(&e.Header); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			tb.Fatal(err)
		}
	}
	if w.Close() != nil || z.Close() != nil {
		tb.Fatal("the archive does not close")
	}
	return b.Bytes()
}

func job(source []byte) render.Job {
	return render.Job{Source: source, Release: "shop", Namespace: "acme", Versions: map[string]string{"kubernetes": "1.31.2"}}
}

func rendered(tb testing.TB, j render.Job) []render.Document {
	tb.Helper()
	docs, err := renderer(tb, Config{}).Render(tb.Context(), j)
	if err != nil {
		tb.Fatalf("%v", err)
	}
	return docs
}

func refused(tb testing.TB, c Config, j render.Job, slug string) *fault.Error {
	tb.Helper()
	docs, err := renderer(tb, c).Render(tb.Context(), j)
	f, ok := fault.As(err)
	if !ok || f.Slug != slug {
		tb.Fatalf("it is answered with %d documents, %v, and not with %s", len(docs), err, slug)
	}
	if slug != "render_unavailable" && f.Kind != fault.Invalid {
		tb.Errorf("%s is of kind %v", slug, f.Kind)
	}
	return f
}
