package operator_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	"berth/adapters/contract"
	"berth/adapters/httpapi"
	"berth/adapters/httpapi/operator"
	"berth/application/licensing"
	"berth/application/trust"
	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/identity"
	"berth/ports/clock/clocktest"
	"berth/ports/ids/idstest"
	"berth/ports/keywrap/keywraptest"
	"berth/ports/notify/notifytest"
	"berth/ports/store"
	"berth/ports/store/storetest"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// world is the operators' API over a memory store, with a token of each role. Every answer is held against the document
// that the API serves of itself.
type world struct {
	t       *testing.T
	mem     *storetest.Memory
	clock   *clocktest.Fake
	handler http.Handler
	tokens  map[identity.Role]string
	spec    validator.Validator
}

type ignored struct{}

func (ignored) Answered(_, _ string, _ int, _ string, _ float64) {}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, mem: storetest.NewMemory(), clock: clocktest.New(noon()), tokens: map[identity.Role]string{}}
	source := idstest.New(1)
	tr := &trust.Trust{Store: w.mem, Clock: w.clock, IDs: source, Hints: notifytest.NewFake(), Settings: trust.DefaultSettings("example.test")}
	for _, role := range []identity.Role{identity.RoleViewer, identity.RoleOperator, identity.RoleAdmin} {
		made, err := tr.CreateToken(t.Context(), trust.CreateTokenRequest{
			Actor: audit.Actor{Kind: audit.ActorOperator, ID: "root"}, By: trust.Operator{Role: identity.RoleAdmin}, Name: "x", Role: role,
		})
		w.must(err)
		w.tokens[role] = made.Clear
	}
	engine := httpapi.NewEngine(httpapi.EngineOptions{
		Audience: "api", Log: slog.New(slog.DiscardHandler), Observer: ignored{}, NewID: func() string { return "req_1" },
	})
	operator.Mount(engine, operator.Deps{
		Version: "test", Trust: tr, Store: w.mem, Clock: w.clock,
		Licensing: &licensing.Licensing{
			Store: w.mem, Clock: w.clock, IDs: source, Hints: notifytest.NewFake(), Wrapper: keywraptest.NewMemory(1),
		},
		Desired: w.desired(source),
	})
	w.handler = engine
	doc, err := libopenapi.NewDocument(w.raw("GET", "/api/v1/openapi.json", "", nil).Body.Bytes())
	w.must(err)
	v, errs := validator.NewValidator(doc)
	for _, err := range errs {
		w.must(err)
	}
	w.spec = v
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) raw(method, path, body string, header http.Header) *httptest.ResponseRecorder {
	w.t.Helper()
	r := httptest.NewRequestWithContext(w.t.Context(), method, path, strings.NewReader(body))
	maps.Copy(r.Header, header)
	r.Header.Set("Content-Type", "application/json")
	out := httptest.NewRecorder()
	w.handler.ServeHTTP(out, r)
	if w.spec != nil {
		answer := &http.Response{
			StatusCode: out.Code, Header: out.Header(), Body: io.NopCloser(strings.NewReader(out.Body.String())), Request: r,
		}
		if ok, errs := w.spec.ValidateHttpResponse(r, answer); !ok {
			w.t.Errorf("%s %s answered %d, against its document: %v\n%s", method, path, out.Code, errs, out.Body)
		}
	}
	return out
}

// as asks in a role.
func (w *world) as(role identity.Role, method, path, body string, header ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	h := http.Header{"Authorization": {"Bearer " + w.tokens[role]}}
	for i := 0; i+1 < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return w.raw(method, path, body, h)
}

// asks is as for an operator, whose answer has this status and is decoded.
func asks[T any](w *world, method, path, body string, status int) T {
	w.t.Helper()
	return decoded[T](w, w.as(identity.RoleOperator, method, path, body), status)
}

func decoded[T any](w *world, out *httptest.ResponseRecorder, status int) T {
	w.t.Helper()
	var v T
	if out.Code != status {
		w.t.Fatalf("answered %d, not %d: %s", out.Code, status, out.Body)
	}
	w.must(json.Unmarshal(out.Body.Bytes(), &v))
	return v
}

// refuses checks the slug of a refusal to an operator, and the slugs of its parts where there are several.
func (w *world) refuses(method, path, body string, status int, slugs ...string) contract.Problem {
	w.t.Helper()
	p := asks[contract.Problem](w, method, path, body, status)
	if p.Slug() != slugs[0] {
		w.t.Fatalf("%s %s was refused as %s: %+v", method, path, p.Slug(), p)
	}
	for i, slug := range slugs {
		if len(slugs) > 1 && (len(p.Errors) != len(slugs) || p.Errors[i].Slug != slug) {
			w.t.Fatalf("%s %s was refused for %+v, not for %v", method, path, p.Errors, slugs)
		}
	}
	return p
}

func (w *world) apps(ids ...string) {
	w.t.Helper()
	w.must(w.mem.Atomically(w.t.Context(), func(ctx context.Context, r *store.Roles) error {
		for _, id := range ids {
			w.must(r.Apps.Create(ctx, delivery.App{ID: id, Name: id, CreatedAt: noon()}))
		}
		return nil
	}))
}
