package httpapi

import (
	"bytes"
	"cmp"
	"html/template"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// pageText needs nothing from any other host, so that it works where the control plane is all that can be reached.
const pageText = `<!doctype html><html lang="en"><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code{background:#f2f2f2;padding:.1em .3em}td{padding:.2em .8em .2em 0;vertical-align:top}</style>
<h1>{{.Title}}</h1><p>OpenAPI 3.1: <a href="{{.Spec}}.json">JSON</a>, <a href="{{.Spec}}.yaml">YAML</a>.
Errors are RFC 9457 problems; match on the slug in <code>type</code>.</p>
{{range .Groups}}<h2>{{.Tag}}</h2><table>{{range .Ops}}<tr><td><code>{{.Method}}</code></td><td><code>{{.Path}}</code></td>
<td>{{.Summary}}. {{.Description}}{{range .Fields}}<br><code>{{.Name}}</code>{{if .Required}} (required){{end}} {{.About}}{{end}}</td>
</tr>{{end}}</table>{{end}}</html>
`

var page = template.Must(template.New("reference").Parse(pageText)) //nolint:gochecknoglobals // an immutable template

type referenceGroup struct {
	Tag string
	Ops []referenceOp
}

type referenceOp struct {
	*huma.Operation
	Fields []referenceField // of the request's body
}

type referenceField struct {
	Name, About string
	Required    bool
}

func fields(spec *huma.OpenAPI, op *huma.Operation) []referenceField {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	schema := op.RequestBody.Content["application/json"].Schema
	if schema.Ref != "" {
		schema = spec.Components.Schemas.SchemaFromRef(schema.Ref)
	}
	var out []referenceField
	for name, s := range schema.Properties {
		out = append(out, referenceField{name, s.Description, slices.Contains(schema.Required, name)})
	}
	slices.SortFunc(out, func(a, b referenceField) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func serveReference(e *gin.Engine, api huma.API, a Audience) {
	e.GET(a.Prefix+"/docs", func(c *gin.Context) {
		scopeOf(c.Request.Context()).operation = "reference"
		var out bytes.Buffer
		err := page.Execute(&out, map[string]any{
			"Title": a.Title, "Spec": a.Prefix + "/openapi", "Groups": groups(api.OpenAPI()),
		})
		if err != nil {
			Problem(c, err)
			return
		}
		c.Header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
		c.Data(http.StatusOK, "text/html; charset=utf-8", out.Bytes())
	})
}

func groups(spec *huma.OpenAPI) []referenceGroup {
	byTag := map[string][]referenceOp{}
	for _, item := range spec.Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if op != nil {
				byTag[op.Tags[0]] = append(byTag[op.Tags[0]], referenceOp{op, fields(spec, op)})
			}
		}
	}
	var out []referenceGroup
	for tag, ops := range byTag {
		slices.SortFunc(ops, func(a, b referenceOp) int {
			return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Method, b.Method))
		})
		out = append(out, referenceGroup{tag, ops})
	}
	slices.SortFunc(out, func(a, b referenceGroup) int { return cmp.Compare(a.Tag, b.Tag) })
	return out
}
