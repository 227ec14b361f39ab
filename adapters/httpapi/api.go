package httpapi

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"

	"berth/adapters/contract"
)

// Audience describes one audience's API for its OpenAPI document, which is served at <Prefix>/openapi.json, with a
// reference page at <Prefix>/docs.
type Audience struct {
	Title   string
	Prefix  string
	Version string
	Scheme  *huma.SecurityScheme // how a request authenticates; nil where it needs nothing
}

// NewAPI mounts an OpenAPI 3.1 API on an engine. Middlewares run in the order given, after the operation is known.
func NewAPI(e *gin.Engine, a Audience, middlewares ...func(huma.API) func(huma.Context, func(huma.Context))) huma.API {
	install()
	config := huma.DefaultConfig(a.Title, a.Version)
	config.OpenAPIPath = a.Prefix + "/openapi"
	config.DocsPath = ""
	config.SchemasPath = ""
	config.CreateHooks = nil // no $schema links in answers: they are exactly the contract
	config.Formats = map[string]huma.Format{"application/json": strictJSON(), "json": strictJSON()}
	config.DefaultFormat = "application/json"
	config.RejectUnknownQueryParameters = true
	if a.Scheme != nil {
		config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"caller": a.Scheme}
		config.Security = []map[string][]string{{"caller": {}}}
	}
	api := humagin.New(e, config)
	api.UseMiddleware(nameOperation, unambiguous(api))
	for _, m := range middlewares {
		api.UseMiddleware(m(api))
	}
	serveReference(e, api, a)
	return api
}

func nameOperation(ctx huma.Context, next func(huma.Context)) {
	scopeOf(ctx.Context()).operation = ctx.Operation().OperationID
	next(ctx)
}

// Op describes an operation. Tag groups it in the reference; meta is what the audience's middlewares read.
func Op(id, method, path, summary string, status int, meta map[string]any) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status,
		MaxBodyBytes: contract.MaxBody, Metadata: meta, Tags: []string{tag(path)},
	}
}

// tag is the first word of a path behind the audience's prefix.
func tag(path string) string {
	for part := range strings.SplitSeq(strings.Trim(path, "/"), "/") {
		switch {
		case part == "api", part == "internal", part == "enroll", part == "v1", strings.HasPrefix(part, "{"):
			continue
		}
		return part
	}
	return "root"
}

// Created, OK, Accepted and NoContent are the statuses of the contract.
const (
	OK        = http.StatusOK
	Created   = http.StatusCreated
	Accepted  = http.StatusAccepted
	NoContent = http.StatusNoContent
)
