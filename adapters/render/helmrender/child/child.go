// Package child renders one chart in a process of its own, which reads a job, takes away from itself what a chart has no
// use for, and answers. Helm's engine is here and nowhere else: it was not made for charts that mean harm.
package child

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"

	"berth/adapters/render/helmrender/exchange"
)

// Main reads a job, renders it and writes the answer. An error means that there is no answer.
func Main(in io.Reader, out io.Writer) error {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Helm's warnings are for nobody
	job, err := readJob(in)
	if err != nil {
		return err
	}
	if err := confine(job.Limits); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(Render(job))
}

func readJob(in io.Reader) (exchange.Job, error) {
	var job exchange.Job
	d := json.NewDecoder(io.LimitReader(in, exchange.MaxJob))
	d.UseNumber()
	if err := d.Decode(&job); err != nil {
		return job, fmt.Errorf("this is no job: %w", err)
	}
	values, err := whole(job.Values)
	if err != nil {
		return job, err
	}
	job.Values, _ = values.(map[string]any)
	return job, nil
}

// whole makes numbers int64, which print as they are written; Helm's own would print a million as 1e+06.
func whole(v any) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			w, err := whole(value)
			if err != nil {
				return nil, err
			}
			v[name] = w
		}
	case json.Number:
		return strconv.ParseInt(v.String(), 10, 64)
	}
	return v, nil
}

// refusal is why a chart is not rendered.
type refusal exchange.Answer

func (r refusal) Error() string { return r.Slug + ": " + r.Detail }

func (r refusal) curable(cure string) refusal {
	r.Cure = cure
	return r
}

func refuse(slug, format string, args ...any) refusal {
	return refusal{Slug: slug, Detail: clipped(fmt.Sprintf(format, args...))}
}

func invalid(format string, args ...any) refusal { return refuse("chart_invalid", format, args...) }

// maxDetail bounds what is said about a chart, which may quote it.
const maxDetail = 1000

func clipped(text string) string {
	if len(text) > maxDetail {
		return text[:maxDetail] + "…"
	}
	return text
}

// Render renders a chart, with the limits of its output only; Main adds those of the process. It renders twice, from the
// package on, and refuses what comes out differently: a function that was overlooked is still no way to be impure.
func Render(job exchange.Job) (a exchange.Answer) {
	defer func() {
		if r := recover(); r != nil {
			a = exchange.Answer(invalid("it can not be rendered: %v", r))
		}
	}()
	first, err := once(job)
	var second []exchange.File
	if err == nil {
		second, err = once(job)
	}
	if err == nil {
		err = same(first, second)
	}
	if why, ok := errors.AsType[refusal](err); ok {
		return exchange.Answer(why)
	}
	return exchange.Answer{Files: first}
}

func same(first, second []exchange.File) error {
	for i, f := range first {
		if i >= len(second) || second[i] != f {
			return differs(f)
		}
	}
	if len(second) > len(first) {
		return differs(second[len(first)])
	}
	return nil
}

func differs(f exchange.File) error {
	return refuse("chart_impure", "%s comes out differently each time", f.Name)
}
