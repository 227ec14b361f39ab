package storetest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"time"

	"berth/domain/ident"
	"berth/domain/placement"
)

// maker makes records. Two makers of one seed make the same.
type maker struct {
	rand  *rand.Rand
	made  int
	limit int64 // every counter is this one; 0 for a different one each
}

func newMaker(seed uint64) *maker {
	return &maker{rand: rand.New(rand.NewPCG(seed, seed))}
}

// enums are the last values of types that are named numbers; a store may keep them by name.
var enums = map[reflect.Type]uint64{ //nolint:gochecknoglobals // an immutable table
	reflect.TypeFor[placement.NodeStatus]():    uint64(placement.NodeRetired),
	reflect.TypeFor[placement.State]():         uint64(placement.Draining),
	reflect.TypeFor[placement.Phase]():         uint64(placement.PhaseFailed),
	reflect.TypeFor[placement.MigrationKind](): uint64(placement.Recovery),
}

var zone = time.FixedZone("elsewhere", -7*60*60-30*60) //nolint:gochecknoglobals // immutable

// full returns an R in which no field is zero and no two are alike as far as their types allow, so that a column which
// is forgotten or mistaken for another shows. Times are finer than stores keep and in another zone than UTC.
func full[R any](m *maker) R {
	var r R
	m.fill(reflect.ValueOf(&r).Elem())
	return r
}

func (m *maker) fill(v reflect.Value) {
	m.made++
	switch v.Kind() {
	case reflect.String:
		v.SetString(m.string())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(m.counter())
	case reflect.Uint8:
		v.SetUint(m.byte(v.Type()))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		m.fill(v.Elem())
	case reflect.Struct:
		m.structure(v)
	case reflect.Array, reflect.Slice:
		m.sequence(v)
	case reflect.Map:
		m.mapping(v)
	default:
		panic("storetest: a record holds a " + v.Type().String())
	}
}

// string is text that finds weak quoting: quotes, placeholders, escapes, wildcards and several bytes a letter.
func (m *maker) string() string {
	return fmt.Sprintf(`%d it's "?0" \u0000 \ %%_ ?; -- ü 船 🚢`+"\n", m.made)
}

func (m *maker) counter() int64 {
	if m.limit != 0 {
		return m.limit
	}
	return 1 + m.rand.Int64N(ident.MaxCounter)
}

func (m *maker) byte(t reflect.Type) uint64 {
	if last, named := enums[t]; named {
		return 1 + m.rand.Uint64N(last)
	}
	return 1 + m.rand.Uint64N(255)
}

func (m *maker) time() time.Time {
	return time.Date(2026, 3, 4, 5, 6, 7, 0, zone).Add(time.Duration(m.rand.Int64N(1e17)) + 1)
}

func (m *maker) structure(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(m.time()))
		return
	}
	for _, field := range v.Fields() {
		m.fill(field)
	}
}

func (m *maker) sequence(v reflect.Value) {
	if v.Kind() == reflect.Slice {
		size := 3
		if v.Type().Elem().Kind() == reflect.Uint8 {
			size = 32 // of a hash or a key
		}
		v.Set(reflect.MakeSlice(v.Type(), size, size))
	}
	for i := range v.Len() {
		m.fill(v.Index(i))
	}
}

func (m *maker) mapping(v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	for range 3 {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		m.fill(key)
		m.fill(value)
		v.SetMapIndex(key, value)
	}
}

// each calls visit with every value of a kind inside v, maps left out; visit may set it.
func each(v reflect.Value, kind reflect.Kind, visit func(path string, v reflect.Value)) {
	walk("", v, func(path string, v reflect.Value) {
		if v.Kind() == kind {
			visit(path, v)
		}
	})
}

func walk(path string, v reflect.Value, visit func(path string, v reflect.Value)) {
	visit(path, v)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(path, v.Elem(), visit)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			walk(path+"."+v.Type().Field(i).Name, v.Field(i), visit)
		}
	case reflect.Array, reflect.Slice:
		for i := range v.Len() {
			walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), visit)
		}
	}
}

// inUTC says whether every time within is as stores give it.
func inUTC(v reflect.Value) bool {
	good := true
	walk("", v, func(_ string, v reflect.Value) {
		if t, ok := reflect.TypeAssert[time.Time](v); ok && t != ident.Instant(t) {
			good = false
		}
	})
	return good
}
