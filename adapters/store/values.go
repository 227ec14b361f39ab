package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/feature"
	"github.com/uptrace/bun/schema"

	"berth/domain/ident"
	port "berth/ports/store"
)

// instant is a time in a column: microseconds since 1970, NULL for none.
type instant time.Time

func (i instant) Value() (driver.Value, error) {
	if t := time.Time(i); !t.IsZero() {
		return ident.Instant(t).UnixMicro(), nil
	}
	return nil, nil //nolint:nilnil // NULL
}

func (i *instant) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*i = instant{}
	case int64:
		*i = instant(time.UnixMicro(v).UTC())
	default:
		return fmt.Errorf("a time is stored as %T", src)
	}
	return nil
}

// kept is the time as it comes back.
func (i instant) kept() instant { return instant(ident.Instant(time.Time(i))) }

// micros is a time in a condition.
func micros(t time.Time) int64 { return ident.Instant(t).UnixMicro() }

// status is a named number in a column: its name.
type status[E interface {
	~uint8
	fmt.Stringer
}] struct{ v E }

const mostStatuses = 32

func (s status[E]) Value() (driver.Value, error) { return s.v.String(), nil }

func (s *status[E]) Scan(src any) error {
	name, ok := src.(string)
	if b, bytes := src.([]byte); bytes {
		name, ok = string(b), true
	}
	for v := E(0); ok && v < mostStatuses; v++ {
		if v.String() == name {
			s.v = v
			return nil
		}
	}
	return fmt.Errorf("there is no %T %v", s.v, src)
}

// encode writes what has no columns of its own as JSON. Its texts are named apart, since JSON would hide what can not be
// held.
func encode(v any, texts ...string) (string, error) {
	if err := port.CheckText(texts...); err != nil {
		return "", err
	}
	b, err := json.Marshal(v)
	return string(b), err
}

func decode[V any](text string) (v V, err error) {
	if text == "" {
		return v, nil
	}
	err = json.Unmarshal([]byte(text), &v)
	return v, err
}

// encodeMap writes a map; none where it is empty.
func encodeMap(m map[string]string) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	return encode(m, append(slices.Collect(maps.Keys(m)), slices.Collect(maps.Values(m))...)...)
}

// bytes32 reads a hash or a key.
func bytes32(b []byte) ([32]byte, error) {
	if len(b) != 32 {
		return [32]byte{}, fmt.Errorf("a hash or key is stored in %d bytes", len(b))
	}
	return [32]byte(b), nil
}

// tuples are rows of a VALUES list.
type tuples [][]any

func (t tuples) AppendQuery(gen schema.QueryGen, b []byte) (_ []byte, err error) {
	for i, row := range t {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = bun.Tuple(typed(gen, row)).AppendQuery(gen, b); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// typed says of bytes that they are: Postgres takes an untyped value of a list for text, which is no key of bytes.
func typed(gen schema.QueryGen, row []any) []any {
	if !gen.HasFeature(feature.DoubleColonCast) {
		return row
	}
	out := slices.Clone(row)
	for i, v := range row {
		if digest, ok := v.([]byte); ok {
			out[i] = bun.SafeQuery("?::bytea", digest)
		}
	}
	return out
}
