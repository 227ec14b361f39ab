package yamldoc_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"berth/adapters/render/yamldoc"
	"berth/domain/delivery"
)

// Objects come in the order of the file, named by their document, a List taken apart; what is empty is passed over.
func TestObjectsOfAFile(t *testing.T) {
	t.Parallel()
	docs, faults := yamldoc.Parse("web.yaml", []byte("\ufeff# a comment\n---\na: 1\n---\n# nothing\n---\n{kind: List, apiVersion: v1, items: [{b: 2}, {c: 3}]}\n---\nd: 4\n...\n"))
	want := []delivery.Document{
		{Origin: "web.yaml#1", Object: map[string]any{"a": int64(1)}},
		{Origin: "web.yaml#3:/items/0", Object: map[string]any{"b": int64(2)}},
		{Origin: "web.yaml#3:/items/1", Object: map[string]any{"c": int64(3)}},
		{Origin: "web.yaml#4", Object: map[string]any{"d": int64(4)}},
	}
	if len(faults) > 0 || !reflect.DeepEqual(docs, want) {
		t.Errorf("got %+v, %v", docs, faults)
	}
	for _, empty := range []string{"", "\n", "# only a comment", "---\n---\n", "null", "~"} {
		if docs, faults := yamldoc.Parse("x", []byte(empty)); len(docs) != 0 || len(faults) != 0 {
			t.Errorf("%q: got %v, %v", empty, docs, faults)
		}
	}
}

// Each kind of scalar becomes one kind of value; what YAML 1.1 takes for more than text is text.
func TestScalars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"1": int64(1), "-7": int64(-7), "+7": int64(7), "0": int64(0), "0644": int64(420), "0o644": int64(420), "9223372036854775807": int64(1<<63 - 1),
		"-9223372036854775808": int64(-1 << 63), "1.5": 1.5, "1e3": 1e3, ".5": .5, "-0.25": -.25, "0.1": .1,
		"true": true, "True": true, "TRUE": true, "false": false, "null": nil, "~": nil, "": nil, "Null": nil,
		"on": "on", "off": "off", "yes": "yes", "no": "no", "y": "y", "n": "n", "Yes": "Yes", "ON": "ON",
		"2026-01-31": "2026-01-31", "2026-01-31T10:00:00Z": "2026-01-31T10:00:00Z", "1:30": "1:30", "text": "text", "1.2.3": "1.2.3",
		`"1"`: "1", `'true'`: "true", `"null"`: "null", `"0x10"`: "0x10", `".inf"`: ".inf", "500m": "500m", "${name}": "${name}", "e3": "e3",
		`"\u00e9\n"`: "é\n", "|\n  two\n  lines": "two\nlines\n", ">-\n  one\n  line": "one line", "[]": []any{}, "{}": map[string]any{},
	} {
		docs, faults := yamldoc.Parse("x", []byte("v: "+text+"\n"))
		if len(faults) > 0 || len(docs) != 1 || !reflect.DeepEqual(docs[0].Object["v"], want) {
			t.Errorf("%q: got %#v, %v, want %#v", text, docs, faults, want)
		}
	}
}

// What could be understood in two ways, or is not there in JSON, is refused by what it is, where it is.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: &x 1\nb: *x":                   "manifest_ambiguous x#1:/a",
		"a: &x {b: 1}":                     "manifest_ambiguous x#1:/a",
		"a: *x":                            "manifest_invalid x#1",
		"&k a: 1":                          "manifest_ambiguous x#1",
		"a: !!binary aGk=":                 "manifest_ambiguous x#1:/a",
		"a: !!timestamp 2026-01-31":        "manifest_ambiguous x#1:/a",
		"a: !!str 1":                       "manifest_ambiguous x#1:/a",
		"a: !custom {b: 1}":                "manifest_ambiguous x#1:/a",
		"a: !!set {b}":                     "manifest_ambiguous x#1:/a",
		"%TAG ! tag:x,2026:\n---\na: !y 1": "manifest_ambiguous x#1:/a",
		"!!str a: 1":                       "manifest_ambiguous x#1",
		"a: {b: 1, b: 2}":                  "manifest_ambiguous x#1:/a/b",
		"a: 1\n\"a\": 2":                   "manifest_ambiguous x#1:/a",
		"a: {<<: {b: 1}}":                  "manifest_ambiguous x#1:/a",
		"a: {\"<<\": 1}":                   "manifest_ambiguous x#1:/a",
		"1: a":                             "manifest_ambiguous x#1",
		"true: a":                          "manifest_ambiguous x#1",
		"~: a":                             "manifest_ambiguous x#1",
		"? [a]\n: b":                       "manifest_ambiguous x#1",
		"? {a: 1}\n: b":                    "manifest_ambiguous x#1",
		"a: .inf":                          "manifest_invalid x#1:/a",
		"a: -.INF":                         "manifest_invalid x#1:/a",
		"a: .nan":                          "manifest_invalid x#1:/a",
		"a: 9223372036854775808":           "manifest_invalid x#1:/a",
		"a: 18446744073709551616":          "manifest_invalid x#1:/a",
		"a: -9223372036854775809":          "manifest_invalid x#1:/a",
		"a: 0x10":                          "manifest_ambiguous x#1:/a",
		"a: 0b11":                          "manifest_ambiguous x#1:/a",
		"a: 1_000":                         "manifest_ambiguous x#1:/a",
		"a: 0888":                          "manifest_ambiguous x#1:/a",
		"a: \"\\0\"":                       "manifest_invalid x#1:/a",
		"\"a\\0\": 1":                      "manifest_invalid x#1",
		"a: b\x00":                         "manifest_invalid x",
		"a: \xff":                          "manifest_invalid x",
		"\xff\xfea\x00:\x00 \x001\x00":     "manifest_invalid x",
		"- a":                              "manifest_invalid x#1",
		"text":                             "manifest_invalid x#1",
		"a: [":                             "manifest_invalid x#1",
		"a: b: c":                          "manifest_invalid x#1",
		"\ta: 1":                           "manifest_invalid x#1",
		"a: 1\n---\nb: {c: &x 1}":          "manifest_ambiguous x#2:/b/c",
		"a~/b: {c: &x 1}":                  "manifest_ambiguous x#1:/a~0~1b/c",
		"{kind: List, apiVersion: v1}":     "manifest_invalid x#1",
		"{kind: List, items: []}":          "manifest_invalid x#1",
		"{kind: List, apiVersion: v2, items: []}":                                              "manifest_invalid x#1",
		"{kind: List, apiVersion: v1, items: [1]}":                                             "manifest_invalid x#1:/items/0",
		"{kind: List, apiVersion: v1, items: [{kind: List, apiVersion: v1, items: []}]}":       "manifest_invalid x#1:/items/0",
		"{kind: List, apiVersion: v1, items: [], spec: {}}":                                    "manifest_invalid x#1:/spec",
		"a: " + strings.Repeat("[", 65) + strings.Repeat("]", 65):                              "manifest_too_large x#1:/a" + strings.Repeat("/0", 64),
		"a: " + strings.Repeat("{a: ", 9000) + "1" + strings.Repeat("}", 9000):                 "manifest_too_large x#1:" + strings.Repeat("/a", 65),
		"a: " + strings.Repeat("[", 20000):                                                     "manifest_invalid x#1",
		"a: [" + strings.Repeat("1,", 100_001) + "]":                                           "manifest_too_large x#1:/a/99997",
		"a: " + strings.Repeat("x", yamldoc.MaxSize):                                           "manifest_too_large x",
		strings.Repeat("---\n", yamldoc.MaxDocuments+1):                                        "manifest_too_large x",
		"a: &a [1]\nb: &b [*a,*a,*a]\nc: &c [*b,*b,*b]\nd: [*c,*c,*c]":                         "manifest_ambiguous x#1:/a",
		"a: \"" + strings.Repeat("${", 10) + "\"\nb: !!python/object/apply:os.system [\"id\"]": "manifest_ambiguous x#1:/b",
	} {
		docs, faults := yamldoc.Parse("x", []byte(text))
		if len(faults) == 0 || docs != nil || faults[0].Slug+" "+faults[0].Field != want {
			t.Errorf("%.60q: got %v, %v, want %s", text, docs, faults, want)
		}
	}
}

// Everything that is wrong with a file is told at once, up to a bound.
func TestAllFaultsAreTold(t *testing.T) {
	t.Parallel()
	_, faults := yamldoc.Parse("x", []byte("a: !t 1\nb: &x 2\n---\nc: {d: 1, d: 2}\n---\n- e\n"))
	var got []string
	for _, f := range faults {
		got = append(got, f.Field)
	}
	if want := []string{"x#1:/a", "x#1:/b", "x#2:/c/d", "x#3"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, faults := yamldoc.Parse("x", []byte(strings.Repeat("---\na: !t 1\nb: !t 2\nc: !t 3\n", 300))); len(faults) != 20 {
		t.Errorf("%d faults were told", len(faults))
	}
}

// Four megabytes are refused without being read.
func TestHugeFile(t *testing.T) {
	t.Parallel()
	if _, faults := yamldoc.Parse("x", []byte(strings.Repeat("a: b\n", 4<<20/5))); len(faults) != 1 || faults[0].Slug != "manifest_too_large" {
		t.Errorf("got %v", faults)
	}
}

// Whatever a file is filled with, the answer is short.
func TestHostileShapes(t *testing.T) {
	t.Parallel()
	const size = yamldoc.MaxSize / 32 // a whole file is no more hostile, and takes the race detector long
	fill := func(head, part string) string { return head + strings.Repeat(part, (size-len(head))/len(part)) }
	long := strings.Repeat("k", size/2)
	for _, text := range []string{
		fill("", "# c\n"), fill("", "a: 1 # c\n# d\n"), fill("", "a: 1\n"), fill("a: ", "["), fill("a: ", "{a: "), fill("", "- \n"), fill("", "- "),
		fill("", "---\n"), fill("", "? "), fill("a: [", "a,"), fill("", "- &a b\n"), fill("a: \"", "\\x41"), fill("a: |\n", "  x\n"), fill("", ": "),
		fill("a: ", "!a "), fill("", "%YAML 1.1\n"), fill("", "- # c\n"), fill("", "- !t\n"), "? " + long + "\n: {" + strings.Repeat("a: &x 1, ", 9) + "}",
		"a: *" + long, "a: !" + long + " b", "a: &" + long + " b", "%TAG !" + long, "a:\n  ? " + long + "\n  : !!int 1\n  ? " + long + "\n  : 2",
	} {
		_, faults := yamldoc.Parse("x", []byte(text))
		told := 0
		for _, f := range faults {
			told += len(f.Detail) + len(f.Field) + len(f.Cure)
		}
		if told > 16<<10 {
			t.Errorf("%.40q: the answer has %d bytes", text, told)
		}
	}
}

// No text makes the reader panic, and what it accepts can be written as JSON and read back as it was.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"a: 1", "a: &x [*x]", "a: {<<: {b: 1}}", "- - - -", "? a\n: b", "a: |\n  x\n", "%YAML 1.2\n---\na: 1\n...", "{kind: List, apiVersion: v1, items: [{}]}",
		"a: !!binary aGk=", "a: 0x1_0", "a: .inf", "\"\\x41\": '", "a: [1, 2.5, ~, true, on]", "---\n---\n", "a: 1 # c\n# d\nb: 2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		docs, faults := yamldoc.Parse("f", []byte(text))
		if len(faults) > 0 && docs != nil {
			t.Fatal("objects beside faults")
		}
		for _, d := range docs {
			data, err := json.Marshal(d.Object)
			if err != nil {
				t.Fatalf("%q became %v: %v", text, d.Object, err)
			}
			decoder := json.NewDecoder(strings.NewReader(string(data)))
			decoder.UseNumber()
			var back map[string]any
			if err := decoder.Decode(&back); err != nil || !same(d.Object, back) {
				t.Fatalf("%q became %v, and %v again: %v", text, d.Object, back, err)
			}
		}
	})
}

func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		o, ok := b.(map[string]any)
		if !ok || len(o) != len(a) {
			return false
		}
		for k, v := range a {
			if !same(v, o[k]) {
				return false
			}
		}
		return true
	case []any:
		o, ok := b.([]any)
		if !ok || len(o) != len(a) {
			return false
		}
		for i := range a {
			if !same(a[i], o[i]) {
				return false
			}
		}
		return true
	case int64:
		n, ok := b.(json.Number)
		return ok && n.String() == strconv.FormatInt(a, 10)
	case float64:
		n, ok := b.(json.Number)
		f, err := n.Float64()
		return ok && err == nil && f == a
	case string:
		return a == b && utf8.ValidString(a)
	case bool, nil:
		return a == b
	}
	return false
}
