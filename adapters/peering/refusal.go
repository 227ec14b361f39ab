package peering

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"

	"berth/adapters/contract"
	"berth/domain/fault"
)

const maxProblem = 8 << 10

// refusalOf reads an answer that may say that the route is not the right one. The answer can still be passed on.
func refusalOf(a *http.Response) error {
	if a.StatusCode != http.StatusConflict && a.StatusCode != http.StatusServiceUnavailable {
		return nil
	}
	if kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type")); kind != contract.ProblemType { // empty where there is none
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(a.Body, maxProblem))
	a.Body = rejoined{io.MultiReader(bytes.NewReader(body), after(a.Body, err)), a.Body}
	var p contract.Problem
	_ = json.Unmarshal(body, &p) // what is no problem names no refusal
	switch p.Slug() {
	case "not_holder":
		return fault.New(fault.Unavailable, "not_holder", "the node that the route leads to does not hold the tenant").After(time.Second)
	case "generation_changed":
		return fault.New(fault.Conflict, "generation_changed", "the node that the route leads to holds the tenant at another generation").After(time.Second)
	}
	return nil
}

// rejoined is a body of which the beginning was read.
type rejoined struct {
	io.Reader
	io.Closer
}

// after is what follows a beginning: the error that ended it, or the rest.
func after(rest io.Reader, err error) io.Reader {
	if err != nil {
		return failing{err}
	}
	return rest
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
