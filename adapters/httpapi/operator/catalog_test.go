package operator_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/adapters/httpapi/operator"
	"berth/application/catalog"
	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/identity"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/notify/notifytest"
	"berth/ports/registry/registrytest"
	"berth/ports/render"
	"berth/ports/render/rendertest"
	"berth/ports/store/storetest"
)

// silent counts nothing.
type silent struct{}

func (silent) Answered(_, _ string, _ int, _ string, _ float64) {}

// site is the operators' API over a store in memory, with a token of each role.
type site struct {
	http.Handler
	t      *testing.T
	tokens map[identity.Role]string
}

func newSite(t *testing.T) *site {
	t.Helper()
	mem, clock := storetest.NewMemory(), clocktest.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	first := trust.NewBootstrap("bootstrap-token-of-this-test-0123456789")
	authority := &trust.Trust{
		Store: mem, Clock: clock, IDs: idstest.New(1), Hints: notifytest.NewFake(), Settings: trust.DefaultSettings("example.test"), Bootstrap: first,
	}
	e := httpapi.NewEngine(httpapi.EngineOptions{
		Audience: "api", Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Observer: silent{}, NewID: func() string { return "req_1" },
	})
	operator.Mount(e, operator.Deps{
		Version: "test", Trust: authority, Store: mem, Clock: clock, Catalog: &catalog.Catalog{
			Store: mem, Clock: clock, Charts: registrytest.NewMemory(), Renderers: render.Renderers{delivery.SourceManifests: &rendertest.Memory{}},
		},
	})
	s := &site{Handler: e, t: t, tokens: map[identity.Role]string{}}
	admin := trust.Operator{ID: trust.BootstrapID, Role: identity.RoleAdmin, Bootstrap: true}
	for _, role := range []identity.Role{identity.RoleAdmin, identity.RoleOperator, identity.RoleViewer} {
		made, err := authority.CreateToken(context.Background(), trust.CreateTokenRequest{Actor: audit.Actor{Kind: audit.ActorOperator, ID: admin.ID}, By: admin, Name: string(role), Role: role})
		if err != nil {
			t.Fatal(err)
		}
		s.tokens[role] = made.Clear
		admin = trust.Operator{ID: made.Token.ID, Role: identity.RoleAdmin}
	}
	return s
}

// call sends a request as a role and returns the status and the decoded answer.
func (s *site) call(role identity.Role, method, path string, body any, header ...string) (int, map[string]any) {
	s.t.Helper()
	text := ""
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		text = string(data)
	}
	r := httptest.NewRequest(method, path, strings.NewReader(text))
	r.Header.Set("Authorization", "Bearer "+s.tokens[role])
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var out map[string]any
	if w.Body.Len() > 0 {
		if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
			s.t.Fatalf("%v in %s", err, w.Body)
		}
	}
	return w.Code, out
}

func (s *site) want(status int, role identity.Role, method, path string, body any) map[string]any {
	s.t.Helper()
	got, out := s.call(role, method, path, body)
	if got != status {
		s.t.Fatalf("%s %s is answered %d %v, not %d", method, path, got, out, status)
	}
	return out
}

func parts(problem map[string]any) []string {
	var out []string
	errors, _ := problem["errors"].([]any)
	for _, e := range errors {
		m, _ := e.(map[string]any)
		field, _ := m["field"].(string)
		out = append(out, m["slug"].(string)+" "+field)
	}
	return out
}

type object = map[string]any

const web = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":"${replicas}","selector":{"matchLabels":{"app":"web"}},
	"template":{"metadata":{"labels":{"app":"web"}},"spec":{"automountServiceAccountToken":false,
	"securityContext":{"runAsNonRoot":true,"seccompProfile":{"type":"RuntimeDefault"}},
	"containers":[{"name":"web","image":"r.example/web:1","resources":{"requests":{"cpu":"100m","memory":"64Mi"}},
	"securityContext":{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]}}}}`

func release(version, text string) object {
	return object{
		"version": version, "source": object{"kind": "manifests", "files": object{"web.yaml": text}}, "schema_gate": true,
		"parameters": []any{object{"name": "replicas", "type": "int", "default": 2, "customer_settable": true}, object{"name": "mode", "type": "enum", "values": []any{"", "b"}, "default": ""}},
		"requires":   []any{object{"app": "db", "versions": "^1.0.0"}}, "externals": []any{"Secret/login"},
	}
}

func (s *site) stock() {
	s.t.Helper()
	for _, id := range []string{"web", "db"} {
		s.want(201, identity.RoleOperator, "POST", "/api/v1/apps", object{"id": id, "name": "App " + id})
	}
	s.want(201, identity.RoleAdmin, "POST", "/api/v1/registries", object{"host": "r.example", "mirror_of": "docker.io"})
}

// The catalogue over HTTP: what is made is shown as it was made, the same release again is 200 with the same body, another
// content is refused, and every bad object is named.
func TestCatalogueOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.stock()
	made := s.want(201, identity.RoleOperator, "POST", "/api/v1/apps/web/releases", release("1.2.3", web))
	want := []any{
		object{"name": "mode", "type": "enum", "values": []any{"", "b"}, "default": "", "required": false, "secret": false, "customer_settable": false},
		object{"name": "replicas", "type": "int", "default": 2.0, "required": false, "secret": false, "customer_settable": true},
	}
	if made["version"] != "1.2.3" || !reflect.DeepEqual(made["images"], []any{"r.example/web:1"}) || !reflect.DeepEqual(made["parameters"], want) ||
		!reflect.DeepEqual(made["requires"], []any{object{"app": "db", "versions": "^1.0.0"}}) || made["schema_gate"] != true || len(made["digest"].(string)) != 64 {
		t.Errorf("%v", made)
	}
	if again := s.want(200, identity.RoleOperator, "POST", "/api/v1/apps/web/releases", release("1.2.3", web)); !reflect.DeepEqual(again, made) {
		t.Errorf("%v, then %v", made, again)
	}
	if shown := s.want(200, identity.RoleViewer, "GET", "/api/v1/apps/web/releases/1.2.3", nil); !reflect.DeepEqual(shown, made) {
		t.Errorf("%v, then %v", made, shown)
	}
	if problem := s.want(409, identity.RoleOperator, "POST", "/api/v1/apps/web/releases", release("1.2.3", web+" ")); problem["type"] != "urn:berth:problem:release_immutable" {
		t.Errorf("%v", problem)
	}
	problem := s.want(422, identity.RoleOperator, "POST", "/api/v1/apps/web/releases", release("2.0.0", `{"apiVersion":"v1","kind":"Pod"}`+"\n---\n"+web+"\n---\n"+`{"apiVersion":"v1","kind":"Node"}`))
	if got := parts(problem); !reflect.DeepEqual(got, []string{"manifest_kind_refused web.yaml#1", "manifest_kind_refused web.yaml#3"}) {
		t.Errorf("%q", got)
	}
	for path, key := range map[string]string{"/api/v1/apps": "apps", "/api/v1/registries": "registries", "/api/v1/apps/web/releases": "releases"} {
		first := s.want(200, identity.RoleViewer, "GET", path+"?limit=1", nil)
		if list, _ := first[key].([]any); len(list) != 1 {
			t.Errorf("%s: %v", path, first)
		}
		if next, _ := first["next"].(string); next != "" {
			if rest := s.want(200, identity.RoleViewer, "GET", path+"?limit=1&cursor="+next, nil); len(rest[key].([]any)) != 1 {
				t.Errorf("%s: %v", path, rest)
			}
		}
	}
	if app := s.want(200, identity.RoleViewer, "GET", "/api/v1/apps/web", nil); app["name"] != "App web" {
		t.Errorf("%v", app)
	}
	s.want(404, identity.RoleViewer, "GET", "/api/v1/apps/nothing", nil)
	s.want(404, identity.RoleViewer, "GET", "/api/v1/apps/web/releases/9.9.9", nil)
	s.want(409, identity.RoleOperator, "POST", "/api/v1/apps", object{"id": "web", "name": "x"})
}

// A registry is removed by its host, whatever characters that has; removed, it is unknown.
func TestRegistriesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, host := range []string{"r.example", "10.0.0.5:5000", "[2001:db8::1]:5000"} {
		added := s.want(201, identity.RoleAdmin, "POST", "/api/v1/registries", object{"host": host, "plain_http": true, "credentials_ref": "file:/etc/x.json"})
		if added["host"] != host || added["plain_http"] != true || added["credentials_ref"] != "file:/etc/x.json" {
			t.Errorf("%v", added)
		}
		s.want(409, identity.RoleAdmin, "POST", "/api/v1/registries", object{"host": host})
		s.want(204, identity.RoleAdmin, "DELETE", "/api/v1/registries/"+url.PathEscape(host), nil)
		s.want(404, identity.RoleAdmin, "DELETE", "/api/v1/registries/"+url.PathEscape(host), nil)
	}
	problem := s.want(422, identity.RoleAdmin, "POST", "/api/v1/registries", object{"host": "https://r.example", "mirror_of": "x"})
	if got := parts(problem); !reflect.DeepEqual(got, []string{"registry_host_invalid host", "registry_mirror_invalid mirror_of"}) {
		t.Errorf("%q", got)
	}
}

// Viewers change nothing, and only admins say where images may come from.
func TestRolesOfTheCatalogue(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.want(403, identity.RoleViewer, "POST", "/api/v1/apps", object{"id": "web", "name": "x"})
	s.want(403, identity.RoleViewer, "POST", "/api/v1/apps/web/releases", release("1.0.0", web))
	s.want(403, identity.RoleOperator, "POST", "/api/v1/registries", object{"host": "r.example"})
	s.want(403, identity.RoleOperator, "DELETE", "/api/v1/registries/r.example", nil)
	s.tokens["nobody"] = "x"
	s.want(401, "nobody", "GET", "/api/v1/apps", nil)
}

// What the contract does not have is refused before anything is looked at; defaults have the type that they are for.
func TestBadReleasesOverHTTP(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.stock()
	for want, change := range map[string]func(object){
		"invalid_value":          func(o object) { o["source"] = object{"kind": "kustomize"} },
		"unknown_field":          func(o object) { o["image"] = "x" },
		"required_field_missing": func(o object) { delete(o, "source") },
		"version_invalid":        func(o object) { o["version"] = "1.2" },
		"invalid_length":         func(o object) { o["version"] = strings.Repeat("1", 65) },
		"parameter_invalid":      func(o object) { o["parameters"] = []any{object{"name": "a", "type": "int", "default": "x"}} },
		"parameter_invalid ":     func(o object) { o["parameters"] = []any{object{"name": "a", "type": "int", "default": 1.5}} },
		"parameter_invalid  ":    func(o object) { o["parameters"] = []any{object{"name": "a", "type": "int", "default": []any{}}} },
		"parameter_invalid   ":   func(o object) { o["parameters"] = []any{object{"name": "a", "type": "bool", "default": 1}} },
		"manifest_empty":         func(o object) { o["source"] = object{"kind": "manifests"} },
		"source_kind_unknown":    func(o object) { o["source"] = object{"kind": "manifests", "files": object{"a": ""}, "chart": "x"} },
		"requirement_unknown":    func(o object) { o["requires"] = []any{object{"app": "mq"}} },
		"manifest_ambiguous":     func(o object) { o["source"] = object{"kind": "manifests", "files": object{"a.yaml": `{"a":1,"a":2}`}} },
		"parameter_reaches_identity": func(o object) {
			o["source"] = object{"kind": "manifests", "files": object{"a.yaml": strings.Replace(web, `"r.example/web:1"`, `"${image}"`, 1)}}
			o["parameters"] = append(o["parameters"].([]any), object{"name": "image", "type": "string", "default": "r.example/web:1", "customer_settable": true})
		},
	} {
		body := release("1.0.0", web)
		change(body)
		problem := s.want(422, identity.RoleOperator, "POST", "/api/v1/apps/web/releases", body)
		if problem["type"] != contract.ProblemPrefix+strings.TrimSpace(want) {
			t.Errorf("%s: %v", want, problem)
		}
	}
	huge := release("1.0.0", strings.Repeat("x", 4<<20))
	if problem := s.want(413, identity.RoleOperator, "POST", "/api/v1/apps/web/releases", huge); problem["type"] != contract.ProblemPrefix+"body_too_large" {
		t.Errorf("%v", problem)
	}
	s.want(404, identity.RoleOperator, "POST", "/api/v1/apps/nothing/releases", release("1.0.0", web))
	if list := s.want(200, identity.RoleViewer, "GET", "/api/v1/apps/web/releases", nil); len(list["releases"].([]any)) != 0 {
		t.Errorf("%v", list)
	}
}

// A request with a key is carried out once; another body under the key is refused.
func TestRepeatedReleases(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.stock()
	key := []string{contract.HeaderIdempotencyKey, "k1"}
	status, first := s.call(identity.RoleOperator, "POST", "/api/v1/apps/web/releases", release("1.0.0", web), key...)
	again, second := s.call(identity.RoleOperator, "POST", "/api/v1/apps/web/releases", release("1.0.0", web), key...)
	if status != 201 || again != 201 || !reflect.DeepEqual(first, second) {
		t.Errorf("%d %v, then %d %v", status, first, again, second)
	}
	if status, problem := s.call(identity.RoleOperator, "POST", "/api/v1/apps/web/releases", release("1.1.0", web), key...); status != 422 {
		t.Errorf("%d %v", status, problem)
	}
}
