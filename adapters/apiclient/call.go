package apiclient

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// call is one request and where its answer goes.
type call struct {
	method string
	path   string
	query  url.Values
	known  string // the ETag of what the caller has
	in     any    // nil for no body
	out    any    // nil where no body is awaited
	raw    *raw   // in place of out: the answer as it is
	wait   time.Duration
}

// raw is an answer that is no JSON.
type raw struct {
	body []byte
	etag string
}

// maxAnswer bounds an answer: the largest is a snapshot, of about 5 MB by the limits of a tenant.
const maxAnswer = 32 << 20

type keyedKey struct{}

// Keyed makes the writes of a context carry an Idempotency-Key.
func Keyed(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyedKey{}, key)
}

// get asks for something.
func get[T any](ctx context.Context, c *Client, path string, query url.Values) (T, error) {
	var out T
	_, err := c.do(ctx, call{method: http.MethodGet, path: path, query: query, out: &out})
	return out, err
}

// post writes something; in may be nil.
func post[T any](ctx context.Context, c *Client, path string, in any) (T, error) {
	return send[T](ctx, c, http.MethodPost, path, in)
}

// send writes something by any method; in may be nil.
func send[T any](ctx context.Context, c *Client, method, path string, in any) (T, error) {
	var out T
	_, err := c.do(ctx, call{method: method, path: path, in: in, out: &out})
	return out, err
}

// do sends a request and reads its answer. It says whether the answer is that nothing changed (304).
func (c *Client) do(ctx context.Context, k call) (unchanged bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+k.wait)
	defer cancel()
	r, err := c.request(ctx, k)
	if err != nil {
		return false, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return false, c.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return false, c.unreachable(ctx, err)
	}
	switch {
	case len(data) > maxAnswer:
		return false, fault.New(fault.Internal, "unexpected_answer", "the answer has more than %d bytes", maxAnswer)
	case answer.StatusCode == http.StatusNotModified && k.known != "":
		return true, nil
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return false, refusal(answer, data)
	case k.raw != nil:
		*k.raw = raw{data, answer.Header.Get("ETag")}
		return false, nil
	case k.out == nil:
		return false, nil
	}
	if json.Unmarshal(data, k.out) != nil { // its text may repeat what was answered
		return false, fault.New(fault.Internal, "unexpected_answer", "%s answered %d with something else than the contract says",
			c.base, answer.StatusCode)
	}
	return false, nil
}

func (c *Client) request(ctx context.Context, k call) (*http.Request, error) {
	var body []byte
	if k.in != nil {
		var err error
		if body, err = json.Marshal(k.in); err != nil {
			return nil, fault.New(fault.Invalid, "invalid_request", "the request can not be written").Because(err)
		}
	}
	target := c.base + k.path
	if len(k.query) > 0 {
		target += "?" + k.query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, k.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, fault.New(fault.Invalid, "invalid_request", "the request can not be made").Because(err)
	}
	r.Header.Set("Accept", "application/json, "+contract.ProblemType)
	if k.in != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if k.known != "" {
		r.Header.Set("If-None-Match", k.known)
	}
	if key, ok := ctx.Value(keyedKey{}).(string); ok && k.method != http.MethodGet {
		r.Header.Set(contract.HeaderIdempotencyKey, key)
	}
	if c.proof == nil {
		return r, nil
	}
	return r, c.proof.Prove(r, body)
}

func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.New(fault.Unavailable, "request_ended", "the request ended first").Because(context.Cause(ctx))
	}
	if refusesCertificate(err) {
		return fault.New(fault.Unauthenticated, "certificate_refused", "%s does not take the certificate that it was shown", c.base).Because(err)
	}
	gone := fault.New(fault.Unavailable, "server_unreachable", "%s does not answer", c.base).Because(err)
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		gone.Detail = c.base + " shows a certificate that is not believed"
		return gone.Curable("name the CA that signs its certificate")
	}
	return gone
}

// refusal reads a problem. What carries none came from something else than Berth, and its text is not repeated.
func refusal(answer *http.Response, data []byte) error {
	p := contract.Problem{}
	if answer.Header.Get("Content-Type") != contract.ProblemType || json.Unmarshal(data, &p) != nil || p.Slug() == "" {
		p = contract.Problem{Type: contract.ProblemPrefix + "unexpected_answer"}
		p.Detail = "the answer is " + strconv.Itoa(answer.StatusCode) + " without a problem that says why"
	}
	p.Status = answer.StatusCode
	f := p.Fault()
	f.Kind = kindOf(answer.StatusCode, f.Kind)
	for _, part := range f.Errors {
		part.Kind = f.Kind
	}
	if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && n > 0 {
		f.RetryAfter = time.Duration(n) * time.Second
	}
	return f
}

// kindOf gives HTTP's own statuses, which the problem table has no kind for, the kind that fits.
func kindOf(status int, of fault.Kind) fault.Kind {
	switch {
	case of != fault.Internal:
		return of
	case status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return fault.Unavailable
	case status >= 400 && status < 500:
		return fault.Invalid
	}
	return of
}

// seg is one segment of a path.
func seg(id string) string { return "/" + url.PathEscape(id) }

// Page asks for a part of a list: what follows Cursor, and at most Limit items (0: as the server likes).
type Page struct {
	Cursor string
	Limit  int
}

func (p Page) query() url.Values {
	q := url.Values{}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	return q
}

func waiting(wait time.Duration) string { return strconv.Itoa(int(wait / time.Second)) }
