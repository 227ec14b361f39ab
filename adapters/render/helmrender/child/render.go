package child

import (
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	valuesutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"

	"berth/adapters/render/helmrender/exchange"
)

// once renders a chart from its package on.
func once(job exchange.Job) ([]exchange.File, error) {
	c, err := load(job)
	if err != nil {
		return nil, err
	}
	kube, err := common.ParseKubeVersion(job.KubeVersion)
	if err != nil {
		return nil, invalid("%q is no version of Kubernetes", job.KubeVersion)
	}
	if err := check(c, kube); err != nil {
		return nil, err
	}
	given := copied(job.Values)
	if err := chartutil.ProcessDependencies(c, given); err != nil {
		return nil, invalid("its dependencies can not be put together: %v", err)
	}
	capabilities := &common.Capabilities{KubeVersion: *kube, APIVersions: common.DefaultVersionSet}
	capabilities.HelmVersion.Version = "v4"
	// Its schema is not asked: that might send the process for another one over the network. Parameters are typed anyway.
	values, err := valuesutil.ToRenderValuesWithSchemaValidation(c, given, common.ReleaseOptions{
		Name: job.Release, Namespace: job.Namespace, Revision: 1, IsInstall: true,
	}, capabilities, true)
	if err != nil {
		return nil, invalid("its values can not be put together: %v", err)
	}
	return execute(c, values, job.Limits.Output)
}

func load(job exchange.Job) (*chart.Chart, error) {
	files, err := (&unpacking{left: job.Limits.Content}).unpack(job.Chart, 0)
	if err != nil {
		return nil, err
	}
	c, err := loader.LoadFiles(files)
	if err != nil {
		return nil, invalid("it can not be loaded: %v", err)
	}
	return c, nil
}

// check refuses a chart, or one within it, for what can be seen without rendering it.
func check(c *chart.Chart, kube *common.KubeVersion) error {
	m := c.Metadata
	switch {
	case m.Type == "library" && c.IsRoot():
		return invalid("%s is a library: it renders nothing by itself", m.Name)
	case m.KubeVersion != "" && !chartutil.IsCompatibleRange(m.KubeVersion, kube.String()):
		return invalid("%s is for Kubernetes %s, and not for %s", m.Name, m.KubeVersion, kube.String())
	case len(c.CRDObjects()) > 0:
		return invalid("%s brings a custom resource definition: %s", m.Name, c.CRDObjects()[0].Filename).
			curable("install what defines resources apart from the app, by hand")
	}
	if missing := missing(c); len(missing) > 0 {
		return refuse("chart_dependency_missing", "%s needs %s, which it does not hold", m.Name, strings.Join(missing, ", ")).
			curable("run helm dependency build before helm package")
	}
	for _, sub := range c.Dependencies() {
		if err := check(sub, kube); err != nil {
			return err
		}
	}
	return nil
}

// missing returns what a chart depends on and is not within it: there is nowhere to fetch it from.
func missing(c *chart.Chart) []string {
	var names []string
	for _, d := range c.Metadata.Dependencies {
		if !slices.ContainsFunc(c.Dependencies(), func(sub *chart.Chart) bool { return sub.Name() == d.Name }) {
			names = append(names, d.Name)
		}
	}
	return names
}

func execute(c *chart.Chart, values common.Values, most int) ([]exchange.File, error) {
	var called impurity
	e := engine.Engine{CustomTemplateFuncs: called.functions()}
	rendered, err := e.Render(c, values)
	if called.name != "" {
		return nil, refuse("chart_impure", "it calls %s, whose answer is another one each time or elsewhere", called.name).
			curable("leave the call out, or declare a parameter for what it answers")
	}
	if err != nil {
		return nil, invalid("%v", err)
	}
	var files []exchange.File
	size := 0
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Base(name) == "NOTES.txt" || strings.TrimSpace(rendered[name]) == "" {
			continue
		}
		if size += len(rendered[name]); size > most {
			return nil, refuse("manifest_too_large", "what it renders has more than %d bytes", most)
		}
		files = append(files, exchange.File{Name: name, Text: rendered[name]})
	}
	return files, nil
}

// copied is a deep copy: templates may change what they are given.
func copied(v map[string]any) map[string]any {
	c := make(map[string]any, len(v))
	for name, value := range v {
		if m, ok := value.(map[string]any); ok {
			value = copied(m)
		}
		c[name] = value
	}
	return c
}
