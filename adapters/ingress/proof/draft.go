package proof

import (
	"fmt"
	"slices"
	"strings"
)

// draft is a request as text, so that any part of it may be spoilt.
type draft struct {
	method, target, proto string
	lines                 []string // each without its line end
	body                  string
	end                   string // of a line; CR LF where empty
}

const proto11 = "HTTP/1.1"

// get is a plain request.
func (e *Endpoint) get(target string) draft {
	return draft{method: "GET", target: target, proto: proto11, lines: []string{"Host: " + e.host()}}
}

// post is a request with a body of JSON and its length.
func (e *Endpoint) post(target, body string) draft {
	d := e.get(target).with("Content-Type: application/json", fmt.Sprintf("Content-Length: %d", len(body)))
	d.method, d.body = "POST", body
	return d
}

// with is the draft with more header lines, which may hold anything.
func (d draft) with(lines ...string) draft {
	d.lines = append(slices.Clip(d.lines), lines...)
	return d
}

// without is the draft without the lines of a header.
func (d draft) without(name string) draft {
	d.lines = slices.DeleteFunc(slices.Clone(d.lines), func(l string) bool {
		return len(l) > len(name) && strings.EqualFold(l[:len(name)+1], name+":")
	})
	return d
}

func (d draft) String() string {
	end := d.end
	if end == "" {
		end = "\r\n"
	}
	var out strings.Builder
	out.WriteString(strings.TrimSuffix(d.method+" "+d.target+" "+d.proto, " ") + end)
	for _, l := range d.lines {
		out.WriteString(l + end)
	}
	return out.String() + end + d.body
}

func assignments(node string) string { return "/internal/v1/nodes/" + node + "/assignments" }

// poll is a POST that changes nothing, so that bodies are tried without harm.
func poll(node string) string { return "/internal/v1/nodes/" + node + "/authorization/poll" }

const pollBody = `{"tenants":[],"wait":0}`

const waitingPoll = `{"tenants":[],"wait":8}`
