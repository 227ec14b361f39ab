package helmrender

import (
	"archive/tar"
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/render"
)

// A chart becomes what its templates say, in the order of their names, with its own values, those of its subcharts, and
// the parameters of the release, each of its type; notes and what comes out empty are no objects.
func TestAChartIsRendered(t *testing.T) {
	t.Parallel()
	c := files{
		"Chart.yaml":                    metadata + "appVersion: \"7\"\nkubeVersion: '>= 1.28.0-0'\ndependencies:\n- {name: db, version: 1.x, condition: db.enabled}\n- {name: extra, version: 1.x, condition: extra.enabled}\n",
		"values.yaml":                   "replicas: 1\nname: shop\nmillion: 1000000\nimage: {tag: old, repository: r.example/shop}\nextra: {enabled: false}\n",
		"templates/NOTES.txt":           "Thank you for installing {{ .Chart.Name }}",
		"templates/_h.tpl":              `{{ define "name" }}{{ .Release.Name }}-{{ .Values.name }}{{ end }}`,
		"templates/b.yaml":              "kind: B\nreplicas: {{ .Values.replicas }}\nbig: {{ .Values.big }}\non: {{ .Values.on }}\nimage: {{ .Values.image.repository }}:{{ .Values.image.tag }}\n---\nkind: C\nkube: {{ .Capabilities.KubeVersion.Version }}\nnamespace: {{ .Release.Namespace }}\ninstall: {{ .Release.IsInstall }}\n",
		"templates/a.yaml":              "kind: A\nname: {{ include \"name\" . }}\napp: {{ .Chart.AppVersion | quote }}\nfile: {{ .Files.Get \"data.txt\" }}\nkeys: {{ keys .Values.image | join \",\" }}\n",
		"templates/nothing.yaml":        "{{ if false }}kind: X{{ end }}\n",
		"templates/list.yaml":           "apiVersion: v1\nkind: List\nitems:\n- kind: L\n- kind: M\n",
		"templates/looked.yaml":         "kind: Looked\nfound: {{ len (lookup \"v1\" \"Secret\" \"acme\" \"x\") }}\n",
		"data.txt":                      "text",
		"charts/db/Chart.yaml":          "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"charts/db/values.yaml":         "size: 1Gi\nenabled: true\n",
		"charts/db/templates/db.yaml":   "kind: DB\nsize: {{ .Values.size }}\n",
		"charts/extra/Chart.yaml":       "apiVersion: v2\nname: extra\nversion: 1.0.0\n",
		"charts/extra/templates/x.yaml": "kind: Extra\n",
	}
	j := job(packaged(t, c))
	j.Values = map[string]render.Value{
		"replicas": {Value: int64(3)}, "big": {Value: int64(123_456_789_012)}, "on": {Value: true}, "image.tag": {Value: "1.2"},
		"db.size": {Value: "5Gi"}, "password": {Value: "", Secret: true}, "name": {Value: nil},
	}
	var got []string
	for _, d := range rendered(t, j) {
		got = append(got, fmt.Sprint(d.Origin, " ", d.Object))
	}
	want := []string{
		"shop/charts/db/templates/db.yaml#1 map[kind:DB size:5Gi]",
		"shop/templates/a.yaml#1 map[app:7 file:text keys:repository,tag kind:A name:shop-shop]",
		"shop/templates/b.yaml#1 map[big:123456789012 image:r.example/shop:1.2 kind:B on:true replicas:3]",
		"shop/templates/b.yaml#2 map[install:true kind:C kube:v1.31.2 namespace:acme]",
		"shop/templates/list.yaml#1:/items/0 map[kind:L]",
		"shop/templates/list.yaml#1:/items/1 map[kind:M]",
		"shop/templates/looked.yaml#1 map[found:0 kind:Looked]",
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if again := rendered(t, j); fmt.Sprint(again) != fmt.Sprint(rendered(t, j)) {
		t.Error("two renderings differ")
	}
}

// A chart with secret parameters is told the name of their Secret, which is beside what it renders.
func TestTheSecretOfParameters(t *testing.T) {
	t.Parallel()
	r := render.Renderers{delivery.SourceHelm: renderer(t, Config{})}
	docs, err := r.Release(t.Context(), render.Request{
		Release: delivery.Release{App: "shop", Kind: delivery.SourceHelm, Parameters: []delivery.Parameter{{Name: "db.password", Type: delivery.ParameterString, Secret: true}}},
		Source:  packaged(t, chart("kind: A\nsecret: {{ .Values.existingSecret }}\npassword: {{ .Values.db }}\n")), Namespace: "acme",
	})
	if err != nil || len(docs) != 2 || docs[0].Object["secret"] != "shop-parameters" || docs[0].Object["password"] != nil ||
		docs[1].Secrets["/stringData/db.password"] != "db.password" {
		t.Errorf("%v, %v", docs, err)
	}
}

// What is wrong with a chart is told by its slug.
func TestChartsThatAreRefused(t *testing.T) {
	t.Parallel()
	good := chart("kind: A\n")
	sub := func(f files) string { return string(archivedSub(t, f)) }
	for name, c := range map[string]struct {
		files files
		slug  string
		says  string
	}{
		"no Chart.yaml":             {files{"templates/a.yaml": "kind: A\n"}, "chart_invalid", "Chart.yaml"},
		"a name that is none":       {good.with("Chart.yaml", "apiVersion: v2\nname: ../x\nversion: 1.0.0\n"), "chart_invalid", "name"},
		"no YAML of it":             {good.with("Chart.yaml", "{"), "chart_invalid", ""},
		"values that are none":      {good.with("values.yaml", "- a\n"), "chart_invalid", "values"},
		"a library":                 {good.with("Chart.yaml", metadata+"type: library\n"), "chart_invalid", "library"},
		"a template that is none":   {chart("{{ if }}"), "chart_invalid", "a.yaml"},
		"a function that is none":   {chart("{{ nothing 1 }}"), "chart_invalid", "nothing"},
		"a value that is required":  {chart(`{{ required "say who" .Values.who }}`), "chart_invalid", "say who"},
		"a chart that fails":        {chart(`{{ fail "not like this" }}`), "chart_invalid", "not like this"},
		"another Kubernetes":        {good.with("Chart.yaml", metadata+"kubeVersion: '< 1.20.0'\n"), "chart_invalid", "1.31.2"},
		"a hook":                    {chart("kind: A\nmetadata: {annotations: {helm.sh/hook: pre-install}}\n"), "chart_invalid", "pre-install"},
		"a hook's weight":           {chart("kind: A\nmetadata: {annotations: {helm.sh/hook-weight: '1'}}\n"), "chart_invalid", "hook-weight"},
		"a hook in a subchart":      {good.with("charts/db.tgz", sub(chart("kind: A\nmetadata: {annotations: {helm.sh/hook: test}}\n"))), "chart_invalid", "test"},
		"a resource definition":     {good.with("crds/x.yaml", "kind: CustomResourceDefinition\n"), "chart_invalid", "crds/x.yaml"},
		"one in a subchart":         {good.with("charts/db.tgz", sub(good.with("crds/x.yaml", "kind: X\n"))), "chart_invalid", "crds/x.yaml"},
		"a missing dependency":      {good.with("Chart.yaml", metadata+"dependencies: [{name: db, version: 1.x, repository: 'oci://r.example/charts'}]\n"), "chart_dependency_missing", "db"},
		"one that is off":           {good.with("Chart.yaml", metadata+"dependencies: [{name: db, version: 1.x, condition: db.on}]\n"), "chart_dependency_missing", "db"},
		"one of a subchart":         {good.with("charts/db.tgz", sub(good.with("Chart.yaml", metadata+"dependencies: [{name: mq, version: 1.x}]\n"))), "chart_dependency_missing", "mq"},
		"no YAML":                   {chart("kind: [\n"), "manifest_invalid", ""},
		"a key twice":               {chart("kind: A\nkind: B\n"), "manifest_ambiguous", ""},
		"an anchor":                 {chart("kind: &a A\n"), "manifest_ambiguous", ""},
		"a List in a List":          {chart("apiVersion: v1\nkind: List\nitems: [{kind: List}]\n"), "manifest_invalid", ""},
		"no object":                 {chart("- a\n"), "manifest_invalid", ""},
		"recursion by include":      {chart(`{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`), "chart_invalid", ""},
		"recursion by template":     {chart(`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`), "chart_invalid", ""},
		"a subchart that is no tar": {good.with("charts/db.tgz", "text"), "chart_invalid", "gzip"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := refused(t, Config{}, job(packaged(t, c.files)), c.slug)
			if text := f.Detail + f.Field; !strings.Contains(text, c.says) {
				t.Errorf("%q does not say %q", text, c.says)
			}
		})
	}
	refused(t, Config{}, job([]byte("no package")), "chart_invalid")
	refused(t, Config{}, job(nil), "chart_invalid")
	unknown := job(packaged(t, good))
	unknown.Versions = map[string]string{"kubernetes": "new"}
	refused(t, Config{}, unknown, "chart_invalid")
}

func archivedSub(t *testing.T, f files) []byte { t.Helper(); return packaged(t, f) }

// Every bad object of a chart is named.
func TestEveryBadObjectIsNamed(t *testing.T) {
	t.Parallel()
	f := refused(t, Config{}, job(packaged(t, chart("kind: A\nkind: B\n").with("templates/b.yaml", "- a\n"))), "manifest_ambiguous")
	if len(f.Errors) != 2 || !strings.HasPrefix(f.Errors[0].Field, "shop/templates/a.yaml") || !strings.HasPrefix(f.Errors[1].Field, "shop/templates/b.yaml") {
		t.Errorf("%+v", f.Errors)
	}
}

// A parameter leads into a table or is a value, and not both.
func TestParametersThatContradict(t *testing.T) {
	t.Parallel()
	for _, names := range [][2]string{{"a", "a.b"}, {"a.b", "a.b.c"}} {
		j := job(packaged(t, chart("kind: A\n")))
		j.Values = map[string]render.Value{names[0]: {Value: "x"}, names[1]: {Value: "y"}}
		refused(t, Config{}, j, "chart_invalid")
	}
}

// A package holds a chart's files, and nothing that leads out of it or is no file.
func TestPackagesThatLeadElsewhere(t *testing.T) {
	t.Parallel()
	file := func(name, text string) entry {
		return entry{tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}, text}
	}
	good := []entry{file("shop/Chart.yaml", metadata), file("shop/templates/a.yaml", "kind: A\n")}
	for name, e := range map[string]entry{
		"a symbolic link":      {tar.Header{Name: "shop/templates/b.yaml", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, ""},
		"a hard link":          {tar.Header{Name: "shop/templates/b.yaml", Typeflag: tar.TypeLink, Linkname: "shop/Chart.yaml"}, ""},
		"a device":             {tar.Header{Name: "shop/x", Typeflag: tar.TypeChar}, ""},
		"a pipe":               {tar.Header{Name: "shop/x", Typeflag: tar.TypeFifo}, ""},
		"a way out":            file("shop/../../etc/x", "x"),
		"a way out at once":    file("../x/y", "x"),
		"an absolute name":     file("/shop/x", "x"),
		"a backslash":          file(`shop\..\x`, "x"),
		"a doubled slash":      file("shop//x", "x"),
		"a dot":                file("./shop/x", "x"),
		"beside its folder":    file("x", "x"),
		"a name that is there": file("shop/Chart.yaml", "apiVersion: v2\nname: other\nversion: 2.0.0\n"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, Config{}, job(archived(t, append(good, e)...)), "chart_invalid")
		})
	}
	whole := archived(t, good...)
	refused(t, Config{}, job(whole[:len(whole)/2]), "chart_invalid")
	refused(t, Config{}, job(whole[:len(whole)-1]), "chart_invalid") // every file is there, and the checksum is not
}

// A context that ends takes the wait for a turn and the rendering with it.
func TestAnEndedContextIsHeeded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := renderer(t, Config{}).Render(ctx, job(packaged(t, chart("kind: A\n"))))
	if fault.SlugOf(err) != "render_unavailable" || fault.KindOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
}

// A program that is none, or no renderer, is this machine's fault and not the chart's.
func TestAChildThatIsNone(t *testing.T) {
	t.Parallel()
	for _, program := range [][]string{{"/nonexistent"}, {"/bin/true"}, {"/bin/false"}, {"/bin/echo", `{"slug": "other"}`}, {"/bin/cat"}} {
		f := refused(t, Config{Program: program[0], Args: program[1:]}, job(packaged(t, chart("kind: A\n"))), "render_unavailable")
		if f.Kind != fault.Unavailable {
			t.Errorf("%v: %v", program, f)
		}
	}
}
