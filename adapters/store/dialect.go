package store

import (
	"strings"

	"github.com/uptrace/bun/schema"
)

// Faithful is a dialect that writes text as it is. Bun's own replaces what is not UTF-8 and turns NUL into a broken
// query; here both reach the gate, which refuses them.
func Faithful(d schema.Dialect) schema.Dialect { return faithful{d} }

type faithful struct{ schema.Dialect }

func (faithful) AppendString(b []byte, s string) []byte {
	b = append(b, '\'')
	for {
		before, after, quoted := strings.Cut(s, "'")
		b = append(b, before...)
		if !quoted {
			return append(b, '\'')
		}
		b = append(b, "''"...)
		s = after
	}
}
