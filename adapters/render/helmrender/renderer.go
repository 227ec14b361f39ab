// Package helmrender renders packaged Helm charts. A chart is a program: it may loop, grow, and ask the machine for what
// it is not to know. Each rendering has a process of its own, which is bounded in time, memory, output and reach, and ends
// with its answer (D2). What it answers is read as any other manifests are.
package helmrender

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"berth/adapters/render/helmrender/exchange"
	"berth/adapters/render/yamldoc"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
)

// The usual bounds.
const (
	atOnce  = 2
	within  = 10 * time.Second
	memory  = 512 << 20
	content = 16 << 20 // bytes of what is unpacked
	// kubeVersion is what a chart is told of a cluster whose version nobody knows.
	kubeVersion = "1.30.0"
)

// Config says how a child is started. Zero values of what is below Args stand for the usual.
type Config struct {
	Program string   // this very program
	Args    []string // that make it render a chart: child.Main
	AtOnce  int      // renderings; 2
	Within  time.Duration
	Memory  int64 // bytes of data of each child; 512 MiB
}

// Renderer is render.Renderer for packaged charts.
type Renderer struct {
	config    Config
	turns     chan struct{}
	isolation isolation
}

var _ render.Renderer = (*Renderer)(nil)

// New makes a renderer.
func New(c Config) *Renderer {
	if c.AtOnce == 0 {
		c.AtOnce = atOnce
	}
	if c.Within == 0 {
		c.Within = within
	}
	if c.Memory == 0 {
		c.Memory = memory
	}
	return &Renderer{config: c, turns: make(chan struct{}, c.AtOnce)}
}

// Render is render.Renderer's. It waits for its turn as long as the context allows.
func (r *Renderer) Render(ctx context.Context, job render.Job) ([]render.Document, error) {
	values, err := nested(job.Values)
	if err != nil {
		return nil, err
	}
	version := job.Versions["kubernetes"]
	if version == "" {
		version = kubeVersion
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
	case <-ctx.Done():
		return nil, unavailable("it was given up").Because(ctx.Err())
	}
	files, err := r.run(ctx, exchange.Job{
		Chart: job.Source, Release: job.Release, Namespace: job.Namespace, Values: values, KubeVersion: version,
		Limits: exchange.Limits{
			Memory: r.config.Memory, CPU: int64(max(r.config.Within/time.Second, 1)),
			Output: delivery.MaxRendered, Content: content,
		},
	})
	if err != nil {
		return nil, err
	}
	return documents(files)
}

// nested makes values of parameters: a dot in a name leads into a table. A secret's value is none of a chart's.
func nested(parameters map[string]render.Value) (map[string]any, error) {
	values := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		p := parameters[name]
		if p.Secret || p.Value == nil {
			continue
		}
		steps := strings.Split(name, ".")
		table, ok := descend(values, steps[:len(steps)-1])
		last := steps[len(steps)-1]
		if _, taken := table[last]; !ok || taken {
			return nil, fault.New(fault.Invalid, "chart_invalid", "parameter %q can not be a value beside one that it leads into, or out of", name)
		}
		table[last] = p.Value
	}
	return values, nil
}

func descend(table map[string]any, steps []string) (map[string]any, bool) {
	for _, step := range steps {
		if _, there := table[step]; !there {
			table[step] = map[string]any{}
		}
		next, ok := table[step].(map[string]any)
		if !ok {
			return nil, false
		}
		table = next
	}
	return table, true
}

// documents reads what templates became. A hook is refused: nobody would run it, and a chart that relies on one would be
// applied by half.
func documents(files []exchange.File) ([]render.Document, error) {
	var docs []render.Document
	var faults []*fault.Error
	for _, f := range files {
		found, errs := yamldoc.Parse(f.Name, []byte(f.Text))
		faults = append(faults, errs...)
		for _, d := range found {
			if name := hook(d.Object); name != "" {
				faults = append(faults, fault.New(fault.Invalid, "chart_invalid", "the chart has a hook: %s", name).At(d.Origin).
					Curable("leave it out of the package, also where it is a test"))
			}
		}
		docs = append(docs, found...)
	}
	if len(faults) > 0 {
		return nil, fault.All(faults...)
	}
	return docs, nil
}

func hook(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if name == "helm.sh/hook" || strings.HasPrefix(name, "helm.sh/hook-") {
			return fmt.Sprintf("%s: %v", name, annotations[name])
		}
	}
	return ""
}

func unavailable(why string) *fault.Error {
	return fault.New(fault.Unavailable, "render_unavailable", "the chart could not be rendered: %s", why)
}
