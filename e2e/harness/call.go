package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"berth/adapters/contract"
)

// Answer is an HTTP answer, read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error // where there was none, or not to its end

	request *http.Request
}

// Slug is the slug of a problem; empty for any other answer.
func (a Answer) Slug() string {
	var p contract.Problem
	if a.Header.Get("Content-Type") != contract.ProblemType || json.Unmarshal(a.Body, &p) != nil {
		return ""
	}
	return p.Slug()
}

// Do sends a request to the API listener with a bearer token; body is marshalled unless it is a string.
func (s *Server) Do(token, method, path string, body any, header ...string) Answer {
	s.t.Helper()
	a := s.Ask(context.Background(), token, method, path, body, header...)
	must(s.t, a.Err)
	s.conforms(s.client, s.API, a)
	return a
}

// Enroll is Do on the enrolment listener of a process, which asks nobody who they are.
func (s *Server) Enroll(method, path string, body any) Answer {
	s.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, s.Enrolment+path, reader(body))
	must(s.t, err)
	setHeaders(req, body, nil)
	a := send(s.client, req)
	must(s.t, a.Err)
	s.conforms(s.client, s.Enrolment, a)
	return a
}

// Ask is Do for where a failure is no surprise: its error is in the answer, and nothing is checked.
func (s *Server) Ask(ctx context.Context, token, method, path string, body any, header ...string) Answer {
	req, err := http.NewRequestWithContext(ctx, method, s.API+path, reader(body))
	if err != nil {
		return Answer{Err: err}
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	setHeaders(req, body, header)
	return send(s.client, req)
}

// Call is Do that expects a status and decodes the answer into out, unless that is nil.
func (s *Server) Call(token, method, path string, body any, status int, out any) Answer {
	s.t.Helper()
	a := s.Do(token, method, path, body)
	s.expect(a, method+" "+path, status, out)
	return a
}

// Operator is Call with the admin's token.
func (s *Server) Operator(method, path string, body any, status int, out any) Answer {
	s.t.Helper()
	return s.Call(s.Token, method, path, body, status, out)
}

// Refused is Do with the admin's token that expects a slug.
func (s *Server) Refused(method, path string, body any, status int, slug string) {
	s.t.Helper()
	if a := s.Do(s.Token, method, path, body); a.Status != status || a.Slug() != slug {
		s.t.Fatalf("%s %s: %d %q, want %d %q\n%s", method, path, a.Status, a.Slug(), status, slug, a.Body)
	}
}

func (s *Server) expect(a Answer, what string, status int, out any) {
	s.t.Helper()
	if a.Status != status {
		s.t.Fatalf("%s: status %d, want %d\n%s", what, a.Status, status, a.Body)
	}
	if out != nil {
		if err := json.Unmarshal(a.Body, out); err != nil {
			s.t.Fatalf("%s: %v in %s", what, err, a.Body)
		}
	}
}

func send(c *http.Client, req *http.Request) Answer {
	resp, err := c.Do(req)
	if err != nil {
		return Answer{Err: err, request: req}
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: data, Err: err, request: req}
}

func reader(body any) io.Reader {
	switch b := body.(type) {
	case nil:
		return nil
	case string:
		return strings.NewReader(b)
	case []byte:
		return bytes.NewReader(b)
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return bytes.NewReader(data)
}

func setHeaders(req *http.Request, body any, header []string) {
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
}

// Decode expects a status and decodes the answer.
func Decode(t testing.TB, a Answer, status int, out any) {
	t.Helper()
	if a.Status != status {
		t.Fatalf("status %d, want %d\n%s", a.Status, status, a.Body)
	}
	if err := json.Unmarshal(a.Body, out); err != nil {
		t.Fatalf("%v in %s", err, a.Body)
	}
}

// Try sends a request to a server that may die meanwhile: the status, or 0 where there was no answer.
func (s *Server) Try(token, method, path string, body any) int {
	return s.Ask(context.Background(), token, method, path, body).Status
}
