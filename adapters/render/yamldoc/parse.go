package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"berth/domain/delivery"
	"berth/domain/fault"
)

// Bounds of one file.
const (
	MaxSize      = 1 << 20 // bytes
	MaxDocuments = 500     // those without content included
	maxNodes     = 100_000 // of one document
	maxFaults    = 20      // that are told of one file
)

// Parse reads a file's objects, in its order; documents without content are passed over, and a List is taken apart. The
// name is for people. Faults, each named by its document and where it is in it ("web.yaml#2:/spec/replicas"): Invalid
// manifest_invalid, manifest_too_large, manifest_ambiguous. With faults there are no objects.
func Parse(name string, data []byte) ([]delivery.Document, []*fault.Error) {
	if err := checkText(data); err != nil {
		return nil, []*fault.Error{err.At(name)}
	}
	var docs []delivery.Document
	var faults []*fault.Error
	decoder := yaml.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	for n := 1; len(faults) < maxFaults; n++ {
		var node yaml.Node
		err := decoder.Decode(&node)
		if errors.Is(err, io.EOF) {
			break
		}
		origin := name + "#" + strconv.Itoa(n)
		switch {
		case err != nil: // what follows can not be read any more
			return nil, append(faults, invalid("this is no YAML: %s", short(err.Error())).At(origin))
		case n > MaxDocuments:
			return nil, append(faults, tooLarge("a file has at most %d documents", MaxDocuments).At(name))
		}
		found, errs := documents(origin, &node)
		docs, faults = append(docs, found...), append(faults, errs...)
	}
	if len(faults) > 0 {
		return nil, faults[:min(len(faults), maxFaults)]
	}
	return docs, nil
}

func checkText(data []byte) *fault.Error {
	switch {
	case len(data) > MaxSize:
		return tooLarge("a file has at most %d bytes", MaxSize)
	case !utf8.Valid(data):
		return invalid("a file is UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return invalid("a file holds no NUL")
	}
	return nil
}

func documents(origin string, node *yaml.Node) ([]delivery.Document, []*fault.Error) {
	r := reader{origin: origin}
	value := r.value(node)
	if len(r.faults) > 0 || value == nil {
		return nil, r.faults
	}
	object, ok := value.(map[string]any)
	switch {
	case !ok:
		return nil, []*fault.Error{invalid("a document is an object: a map with apiVersion and kind").At(origin)}
	case object["kind"] == "List":
		return takeApart(origin, object)
	}
	return []delivery.Document{{Origin: origin, Object: object}}, nil
}

// takeApart returns a List's objects. A List within it, and what a List has no place for, is refused.
func takeApart(origin string, list map[string]any) ([]delivery.Document, []*fault.Error) {
	var faults []*fault.Error
	for key := range list {
		switch key {
		case "apiVersion", "kind", "metadata", "items":
		default:
			faults = append(faults, invalid("a List has apiVersion, kind and items only").At(place(origin, key)))
		}
	}
	items, ok := list["items"].([]any)
	if !ok || list["apiVersion"] != "v1" {
		return nil, append(faults, invalid("a List is of apiVersion v1 and has items").At(origin))
	}
	var docs []delivery.Document
	for i, item := range items {
		at := fmt.Sprintf("%s:/items/%d", origin, i)
		object, ok := item.(map[string]any)
		switch {
		case !ok:
			faults = append(faults, invalid("an item of a List is an object").At(at))
		case object["kind"] == "List":
			faults = append(faults, invalid("a List holds no other List").At(at))
		default:
			docs = append(docs, delivery.Document{Origin: at, Object: object})
		}
	}
	return docs, faults
}

// short cuts what repeats a part of the file.
func short(text string) string {
	if len(text) <= maxStep {
		return text
	}
	return strings.ToValidUTF8(text[:maxStep], "") + "…"
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "manifest_invalid", format, args...)
}

func tooLarge(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "manifest_too_large", format, args...)
}

func ambiguous(detail string) *fault.Error {
	return fault.New(fault.Invalid, "manifest_ambiguous", "%s", detail)
}
