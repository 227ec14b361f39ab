// Package debugpage shows people what a relay node may do for each tenant, and why not: as a page without scripts, or as
// JSON for programs. It holds no secret and no name of a device.
package debugpage

import (
	"html/template"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"berth/application/relay"
)

// Source is a node to look at.
type Source interface {
	Status() relay.Status
	Tenants() []relay.TenantStatus
}

// Handler serves /healthz, /readyz and /debug/tenants.
func Handler(of Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, of.Status()) })
	mux.HandleFunc("GET /debug/tenants", func(w http.ResponseWriter, r *http.Request) { tenants(w, r, of) })
	return mux
}

func ready(w http.ResponseWriter, s relay.Status) {
	if s.Ready() {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	page := nodeOf(s)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.MarshalWrite(w, page) // whoever asked may be gone
}

func tenants(w http.ResponseWriter, r *http.Request, of Source) {
	p := page{Node: nodeOf(of.Status())}
	for _, t := range of.Tenants() {
		p.Tenants = append(p.Tenants, tenantOf(t))
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if wantsJSON(r) {
		h.Set("Content-Type", "application/json")
		_ = json.MarshalWrite(w, p)
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
	_ = form.Execute(w, p)
}

// wantsJSON says whether JSON is named by the request, and HTML is not.
func wantsJSON(r *http.Request) bool {
	for _, accept := range r.Header.Values("Accept") {
		for part := range strings.SplitSeq(accept, ",") {
			switch kind, _, _ := mime.ParseMediaType(strings.TrimSpace(part)); kind {
			case "text/html":
				return false
			case "application/json":
				return true
			}
		}
	}
	return false
}

var form = template.Must(template.New("tenants").Funcs(template.FuncMap{ //nolint:gochecknoglobals // an immutable template
	"count": func(n int) string { return strconv.Itoa(n) },
}).Parse(html))

const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Node.Node}}: tenants</title>
<style>
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em; color: #1b1b1b; background: #fff }
h1 { font-size: 1.4em } dl { display: grid; grid-template-columns: max-content auto; gap: .1em 1.5em; margin: 0 0 2em }
dt { color: #555 } dd { margin: 0; font-variant-numeric: tabular-nums }
table { border-collapse: collapse; width: 100% } caption { text-align: left; padding: .4em 0; color: #555 }
th, td { text-align: left; padding: .3em .8em .3em 0; border-bottom: 1px solid #ddd; vertical-align: top }
td { font-variant-numeric: tabular-nums } .yes { color: #06622b } .no { color: #9a1b1b } small { color: #555; display: block }
@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616 } dt, caption, small { color: #aaa }
th, td { border-color: #333 } .yes { color: #7fd69b } .no { color: #ff9b9b } }
</style>
<h1>Node {{.Node.Node}} in {{.Node.Region}}</h1>
<dl>
<dt>serves</dt><dd>{{with .Node.Why}}<span class="no">nothing: {{.Slug}}</span><small>{{.Detail}}{{with .Cure}}; {{.}}{{end}}</small>{{else}}<span class="yes">what its tenants below permit</span>{{end}}</dd>
<dt>registered</dt><dd>{{if .Node.Registered}}heartbeat generation {{.Node.Generation}}, boot id {{.Node.BootID}}, storage id {{.Node.StorageID}}{{else}}not yet{{end}}</dd>
<dt>as the control plane has it</dt><dd>{{or .Node.Status "unknown"}}</dd>
<dt>lease</dt><dd>epoch {{.Node.LeaseEpoch}}, {{.Node.LeaseLeft}} left</dd>
<dt>certificate</dt><dd>{{.Node.SPIFFEID}}{{with .Node.Fingerprint}}<small>SHA-256 {{.}}</small>{{end}}{{with .Node.CertificateExpires}}ends {{.}}{{end}}{{with .Node.CertificateRenews}}, is renewed from {{.}}{{end}}{{with .Node.CertificateLost}} <span class="no">{{.Slug}}</span><small>{{.Detail}}{{with .Cure}}; {{.}}{{end}}</small>{{end}}</dd>
<dt>clock</dt><dd>the control plane's is {{.Node.Skew}} ahead</dd>
<dt>assignments</dt><dd>version {{.Node.AssignmentsVersion}}</dd>
<dt>devices</dt><dd>{{count .Node.Sessions}} sessions, {{count .Node.Used}} tenants used, {{count .Node.Engines}} of them open</dd>
<dt>program</dt><dd>{{.Node.Version}}</dd>
</dl>
<table>
<caption>{{count (len .Tenants)}} tenants concern this node</caption>
<tr><th>tenant<th>role<th>phase<th>generation<th>version<th>revision<th>snapshot<th>copy<th>devices<th>write<th>read</tr>
{{range .Tenants}}<tr><td>{{.Tenant}}<td>{{.Role}}<td>{{.State}}{{with .Migration}}<small>{{.}}</small>{{end}}<td>{{.Generation}}<td>{{.Version}}<td>{{.Revision}}<td>{{with .SnapshotAge}}{{.}} old{{else}}none{{end}}<td>{{.Copy}}<td>{{if .Engine}}{{count .Sessions}} sessions{{else if .Used}}closed just now{{else}}unused{{end}}<td>{{template "answer" .Write}}<td>{{template "answer" .Read}}{{with .Failed}}<small class="no">{{.Slug}}: {{.Detail}}</small>{{end}}</tr>
{{end}}</table>
</html>
{{define "answer"}}{{with .}}<span class="no">{{.Slug}}</span><small>{{.Detail}}</small>{{else}}<span class="yes">yes</span>{{end}}{{end}}
`
