package yamldoc

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// reader makes values of one document's nodes. Its faults are named by JSON pointer (RFC 6901).
type reader struct {
	origin string
	nodes  int
	path   []string // where it reads; made a pointer of where something is refused only
	faults []*fault.Error
}

func (r *reader) full() bool { return len(r.faults) >= maxFaults }

func (r *reader) refuse(n *yaml.Node, err *fault.Error) any {
	if !r.full() {
		e := err.At(place(r.origin, r.path...))
		e.Detail += " (line " + strconv.Itoa(n.Line) + ")"
		r.faults = append(r.faults, e)
	}
	return nil
}

// within reads a part of what it reads.
func (r *reader) within(step string, n *yaml.Node) any {
	r.path = append(r.path, step)
	v := r.value(n)
	r.path = r.path[:len(r.path)-1]
	return v
}

// value decodes a node. Aliases are refused before they are followed, so that the work is bounded by the text's length.
func (r *reader) value(n *yaml.Node) any {
	switch r.nodes++; {
	case r.full():
		return nil
	case r.nodes > maxNodes:
		r.nodes = math.MinInt // told once
		return r.refuse(n, tooLarge("a document has at most %d parts", maxNodes))
	case len(r.path) > delivery.MaxDepth:
		return r.refuse(n, tooLarge("a document is at most %d deep", delivery.MaxDepth))
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		return r.refuse(n, ambiguous("anchors and aliases are not read").Curable("write out what is meant"))
	case n.Style&yaml.TaggedStyle != 0:
		return r.refuse(n, ambiguous("tags are not read").Curable("leave the tag out; quote what is text"))
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.document(n)
	case yaml.MappingNode:
		return r.mapping(n)
	case yaml.SequenceNode:
		return r.sequence(n)
	case yaml.ScalarNode:
		return r.scalar(n)
	case yaml.AliasNode:
	}
	return r.refuse(n, invalid("this is no part of a document"))
}

func (r *reader) document(n *yaml.Node) any {
	if len(n.Content) == 0 {
		return nil
	}
	return r.value(n.Content[0])
}

func (r *reader) mapping(n *yaml.Node) any {
	out := make(map[string]any, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content) && !r.full(); i += 2 {
		key := n.Content[i]
		if err := checkKey(key); err != nil {
			r.refuse(key, err)
			continue
		}
		if _, twice := out[key.Value]; twice {
			r.path = append(r.path, key.Value)
			r.refuse(key, ambiguous("this key is given twice"))
			r.path = r.path[:len(r.path)-1]
			continue
		}
		out[key.Value] = r.within(key.Value, n.Content[i+1])
	}
	return out
}

func checkKey(key *yaml.Node) *fault.Error {
	switch {
	case key.Kind == yaml.AliasNode, key.Anchor != "", key.Style&yaml.TaggedStyle != 0:
		return ambiguous("anchors, aliases and tags are not read")
	case key.Value == "<<" && key.Kind == yaml.ScalarNode:
		return ambiguous("merge keys are not read").Curable("write out what is meant")
	case key.Kind != yaml.ScalarNode, key.ShortTag() != "!!str" && key.ShortTag() != "!!timestamp":
		return ambiguous("a key is text").Curable("quote it")
	}
	return checkString(key.Value)
}

// checkString refuses what escapes in a quoted text can say and no store keeps.
func checkString(text string) *fault.Error {
	if strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text) {
		return invalid("text is UTF-8 and holds no NUL")
	}
	return nil
}

func (r *reader) sequence(n *yaml.Node) any {
	out := make([]any, 0, len(n.Content))
	for i, item := range n.Content {
		if r.full() {
			break
		}
		out = append(out, r.within(strconv.Itoa(i), item))
	}
	return out
}

func (r *reader) scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!str", "!!timestamp":
		if err := checkString(n.Value); err != nil {
			return r.refuse(n, err)
		}
		return n.Value
	case "!!int", "!!float":
		value, err := number(n.Value)
		if err != nil {
			return r.refuse(n, err)
		}
		return value
	}
	return r.refuse(n, ambiguous("this is neither text nor a number, a boolean or null").Curable("quote what is text"))
}

// number reads what YAML takes for a number, where JSON has it, too, and nobody takes it for another.
func number(text string) (any, *fault.Error) {
	unsigned := strings.TrimLeft(text, "+-")
	base := 10
	switch {
	case strings.HasPrefix(unsigned, "0o"), len(unsigned) > 1 && strings.Trim(unsigned, "01234567") == "" && unsigned[0] == '0':
		base = 8
	case strings.ContainsAny(unsigned, "_xXbB"), len(unsigned) > 1 && unsigned[0] == '0' && unsigned[1] >= '0' && unsigned[1] <= '9':
		return nil, ambiguous("this number is read in different ways").Curable("write it in decimal, or quote it where it is text")
	case strings.Trim(unsigned, "0123456789") != "":
		return fraction(text)
	}
	n, err := strconv.ParseInt(strings.Replace(text, "0o", "", 1), base, 64)
	if err != nil {
		return nil, invalid("this number does not fit in 64 bits").Curable("quote it where it is text")
	}
	return n, nil
}

func fraction(text string) (any, *fault.Error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, invalid("this number is none that JSON has").Curable("quote it where it is text")
	}
	return f, nil
}

// place names a place in a document: web.yaml#2:/spec/replicas.
func place(origin string, steps ...string) string {
	if len(steps) == 0 {
		return origin
	}
	return origin + ":" + pointer(steps...)
}

// pointer is the JSON pointer that the steps make. One that is longer than anybody reads is cut.
func pointer(steps ...string) string {
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	var out strings.Builder
	for _, step := range steps {
		out.WriteByte('/')
		_, _ = escape.WriteString(&out, short(step)) // a builder takes all
	}
	return out.String()
}

const maxStep = 128 // bytes of a key, or of the parser's words
