package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Story is one recorded exchange, or several that belong together.
type Story struct {
	Story    string            `json:"story"`              // what it tells
	Settings map[string]string `json:"settings,omitempty"` // further environment of its berthd
	Steps    []*Step           `json:"steps"`

	file string
}

// Step is one exchange.
type Step struct {
	What      string            `json:"what"`
	As        string            `json:"as,omitempty"` // "operator" or "node <id>"; nobody when empty
	Request   string            `json:"request"`      // method and target
	Headers   map[string]string `json:"headers,omitempty"`
	Assertion map[string]any    `json:"assertion,omitempty"` // fields of the ingress assertion that are not the honest ones
	Sign      *Sign             `json:"sign,omitempty"`
	Body      any               `json:"body,omitempty"`
	Until     bool              `json:"until,omitempty"`  // asked again until the answer is the recorded one: time has to pass
	Locked    bool              `json:"locked,omitempty"` // the database is held by another process meanwhile
	Answer    Answer            `json:"answer"`
}

// Sign is a JWT, as it is made.
type Sign struct {
	Key    string         `json:"key"`
	Header map[string]any `json:"header"`
	Claims map[string]any `json:"claims"`
}

// Answer is what came back. A status of 0 says that it was not recorded yet.
type Answer struct {
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"`
}

// recorded says whether the answer is kept for good.
func (s *Step) recorded() bool { return s.Answer.Status != 0 }

func (s *Step) method() string {
	method, _, _ := strings.Cut(s.Request, " ")
	return method
}

func (s *Step) target() string {
	_, target, _ := strings.Cut(s.Request, " ")
	return target
}

// slug is that of a recorded problem; empty for any other answer.
func (s *Step) slug() string {
	body, _ := s.Answer.Body.(map[string]any)
	text, _ := body["type"].(string)
	slug, ok := strings.CutPrefix(text, problemPrefix)
	if !ok {
		return ""
	}
	return slug
}

// The names of version 1 of the contract are spelt out here: taken from today's code, they would change along with it.
const (
	problemPrefix   = "urn:berth:problem:"
	problemType     = "application/problem+json"
	assertionHeader = "Berth-Ingress-Assertion"
)

func parse(data []byte) (*Story, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	d.DisallowUnknownFields()
	s := &Story{}
	if err := d.Decode(s); err != nil {
		return nil, err
	}
	return s, nil
}

// format is the one form in which a story is kept, so that recording more of it leaves the rest of the file as it is.
func (s *Story) format() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(s)
	return out.Bytes(), err
}

// stories are those of one version of the contract.
func stories(version string) ([]*Story, error) {
	files, err := filepath.Glob(filepath.Join("testdata", version, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no recordings of %s: %w", version, err)
	}
	var all []*Story
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s, err := parse(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		s.file = file
		all = append(all, s)
	}
	return all, nil
}

// name is the file's, without its folder and extension.
func (s *Story) name() string { return strings.TrimSuffix(filepath.Base(s.file), ".json") }

// decode reads JSON with its numbers as they are written.
func decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}
