package tokenstest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// members reads a JSON object whose members all are texts or whole numbers, each of the given names at most once.
func members(text []byte, names ...string) (map[string]any, bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	out := map[string]any{}
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for d.More() {
		name, err := d.Token()
		value, errValue := d.Token()
		text, ok := name.(string)
		_, again := out[text]
		if err != nil || errValue != nil || !ok || again || !slices.Contains(names, text) || !scalar(value) {
			return nil, false
		}
		out[text] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	_, err := d.Token()
	return out, err == io.EOF
}

func scalar(value any) bool {
	if n, ok := value.(json.Number); ok {
		_, err := n.Int64()
		return err == nil
	}
	_, ok := value.(string)
	return ok
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

func number(m map[string]any, name string) int64 {
	n, _ := m[name].(json.Number)
	i, _ := n.Int64()
	return i
}

// parts takes a compact JWS apart; each part has one encoding only.
func parts(token string) (out [3][]byte, ok bool) {
	split := strings.Split(token, ".")
	if len(split) != len(out) || strings.ContainsAny(token, "\r\n") {
		return out, false
	}
	for i, part := range split {
		var err error
		if out[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return out, false
		}
	}
	return out, true
}
