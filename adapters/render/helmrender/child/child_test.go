package child

import (
	"errors"
	"testing"

	"berth/adapters/render/helmrender/exchange"
)

// Two renderings that differ in anything are told, also where only one of them has a file.
func TestRenderingsThatDiffer(t *testing.T) {
	t.Parallel()
	a, other, b := exchange.File{Name: "a", Text: "1"}, exchange.File{Name: "a", Text: "2"}, exchange.File{Name: "b", Text: "1"}
	for name, c := range map[string]struct {
		first, second []exchange.File
		same          bool
	}{
		"equal":        {[]exchange.File{a, b}, []exchange.File{a, b}, true},
		"nothing":      {nil, nil, true},
		"another text": {[]exchange.File{a}, []exchange.File{other}, false},
		"one less":     {[]exchange.File{a, b}, []exchange.File{a}, false},
		"one more":     {[]exchange.File{a}, []exchange.File{a, b}, false},
		"one at all":   {nil, []exchange.File{a}, false},
	} {
		err := same(c.first, c.second)
		why, ok := errors.AsType[refusal](err)
		if c.same && err != nil || !c.same && (!ok || why.Slug != "chart_impure") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
