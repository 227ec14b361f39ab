package settings

import (
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

// field is one setting: one field of the struct.
type field struct {
	key   string
	usage string
	index int
}

// fields are all settings of a struct, in its order.
func fields(t reflect.Type) []field {
	out := make([]field, 0, t.NumField())
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		out = append(out, field{key: tag.Get("koanf"), usage: tag.Get("usage"), index: i})
	}
	return out
}

// env is the setting's environment variable.
func (s field) env(prefix string) string { return prefix + strings.ToUpper(s.key) }

// flag is the setting's flag, without its dashes.
func (s field) flag() string { return strings.ReplaceAll(s.key, "_", "-") }

// of is the setting's value in a struct.
func (s field) of(v reflect.Value) reflect.Value { return v.Field(s.index) }

// AddFlags gives a command a flag for every setting, and --config for the file. They take any text: what is no value is
// told together with everything else that is wrong.
func (p Program[C]) AddFlags(flags *pflag.FlagSet) {
	flags.SortFlags = false // what belongs together stands together: "its key" follows the certificate
	flags.String("config", "", "YAML `file` of settings")
	defaults := reflect.ValueOf(p.Default())
	for _, s := range p.fields() {
		flags.Var(&text{of: kindName(s.of(defaults))}, s.flag(), s.usage)
		f := flags.Lookup(s.flag())
		f.DefValue = show(s.of(defaults))
		if f.Value.Type() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// text is a flag's value as it was typed.
type text struct{ is, of string }

func (t *text) String() string     { return t.is }
func (t *text) Set(s string) error { t.is = s; return nil }
func (t *text) Type() string       { return t.of }
