package storetest

import (
	"reflect"
	"time"

	"berth/domain/ident"
	"berth/ports/store"
)

// adopt returns a copy that shares nothing with v, its times as instants. Fault: Invalid invalid_text.
func adopt[R any](v R) (R, error) {
	c := &copier{}
	out := v
	c.copy(reflect.ValueOf(&out).Elem())
	return out, c.err
}

// own returns a copy of what adopt made, for a receiver to do with as it likes.
func own[R any](v R) R {
	out, _ := adopt(v)
	return out
}

type copier struct{ err error }

// copy replaces in place whatever v shares with where it came from.
func (c *copier) copy(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if err := store.CheckText(v.String()); err != nil {
			c.err = err
		}
	case reflect.Struct:
		c.structure(v)
	case reflect.Pointer:
		if !v.IsNil() {
			p := reflect.New(v.Type().Elem())
			p.Elem().Set(v.Elem())
			c.copy(p.Elem())
			v.Set(p)
		}
	case reflect.Slice:
		c.slice(v)
	case reflect.Map:
		c.mapping(v)
	}
}

func (c *copier) structure(v reflect.Value) {
	if t, ok := reflect.TypeAssert[time.Time](v); ok {
		v.Set(reflect.ValueOf(ident.Instant(t)))
		return
	}
	for _, field := range v.Fields() {
		c.copy(field)
	}
}

// slice and mapping make nil of what is empty: the contract calls them the same.
func (c *copier) slice(v reflect.Value) {
	if v.Len() == 0 {
		v.SetZero()
		return
	}
	s := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(s, v)
	v.Set(s)
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return
	}
	for i := range v.Len() {
		c.copy(v.Index(i))
	}
}

func (c *copier) mapping(v reflect.Value) {
	if v.Len() == 0 {
		v.SetZero()
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), v.Len())
	for it := v.MapRange(); it.Next(); {
		pair := [2]reflect.Value{reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()}
		pair[0].Set(it.Key())
		pair[1].Set(it.Value())
		c.copy(pair[0])
		c.copy(pair[1])
		m.SetMapIndex(pair[0], pair[1])
	}
	v.Set(m)
}
