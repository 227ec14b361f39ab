package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"berth/adapters/render/helmrender/exchange"
)

// berthd renders a chart where it is started for that, and is silent about the command otherwise; what is no job has no
// answer.
func TestRenderChart(t *testing.T) {
	t.Parallel()
	var chart bytes.Buffer
	z := gzip.NewWriter(&chart)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{
		"shop/Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "shop/templates/a.yaml": "kind: {{ .Values.kind }}\n",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	if w.Close() != nil || z.Close() != nil {
		t.Fatal("the chart can not be packaged")
	}
	text, err := json.Marshal(exchange.Job{
		Chart: chart.Bytes(), Release: "shop", Namespace: "acme", Values: map[string]any{"kind": "A"}, KubeVersion: "1.30.0",
		Limits: exchange.Limits{Memory: 512 << 20, CPU: 10, Output: 1 << 20, Content: 1 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(in string) (string, error) {
		cmd := exec.Command("berthd", "render-chart")
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		return string(out), err
	}
	if out, err := run(string(text)); err != nil || !strings.Contains(out, `"text":"kind: A\n"`) {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := run("no job"); err == nil || out != "" {
		t.Errorf("%q, %v", out, err)
	}
}
