package harness

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
)

// specs are the OpenAPI documents of a server's listeners, fetched once.
type specs struct {
	mu sync.Mutex
	by map[string]validator.Validator
}

// documents tells where the OpenAPI document of a path is.
var documents = map[string]string{
	"/api/v1/": "/api/v1/openapi.json", "/internal/v1/": "/internal/v1/openapi.json", "/v1/devices": "/v1/devices/openapi.json",
	"/enroll/v1/": "/enroll/v1/openapi.json", "/v1/market/": "/v1/market/openapi.json", "/agent/v1/": "/agent/v1/openapi.json",
}

// outside are the refusals of requests that are no operation's, so that no document describes them.
var outside = []string{"path_unknown", "method_not_allowed", "target_ambiguous"}

// conforms fails the test where an answer is not what the server's own OpenAPI document says of it.
func (s *Server) conforms(c *http.Client, base string, a Answer) {
	s.t.Helper()
	req := a.request
	if a.Status == http.StatusNotModified || slices.Contains(outside, a.Slug()) {
		return
	}
	for prefix, document := range documents {
		if strings.HasPrefix(req.URL.Path, prefix) && !strings.HasSuffix(req.URL.Path, ".json") {
			s.check(s.validator(c, base, document), req, a)
		}
	}
}

func (s *Server) check(v validator.Validator, req *http.Request, a Answer) {
	s.t.Helper()
	resp := &http.Response{
		StatusCode: a.Status, Header: a.Header, Body: io.NopCloser(strings.NewReader(string(a.Body))), Request: req,
	}
	if ok, errs := v.ValidateHttpResponse(req, resp); !ok {
		for _, e := range errs {
			s.t.Errorf("%s %s answered %d, against its OpenAPI document: %s: %s\n%s",
				req.Method, req.URL.Path, a.Status, e.Message, e.Reason, a.Body)
		}
	}
}

func (s *Server) validator(c *http.Client, base, document string) validator.Validator {
	s.t.Helper()
	s.specs.mu.Lock()
	defer s.specs.mu.Unlock()
	if v := s.specs.by[document]; v != nil {
		return v
	}
	resp, err := c.Get(base + document)
	must(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	must(s.t, err)
	doc, err := libopenapi.NewDocument(data)
	must(s.t, err)
	v, errs := validator.NewValidator(doc)
	for _, err := range errs {
		must(s.t, err)
	}
	if s.specs.by == nil {
		s.specs.by = map[string]validator.Validator{}
	}
	s.specs.by[document] = v
	return v
}
