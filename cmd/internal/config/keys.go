package config

import (
	"reflect"
	"strings"

	"github.com/spf13/pflag"
)

const envPrefix = "BERTH_"

// setting is one field of Config.
type setting struct {
	key   string
	usage string
	index int
}

// settings are all fields of Config, in its order.
func settings() []setting {
	t := reflect.TypeFor[Config]()
	out := make([]setting, 0, t.NumField())
	for i := range t.NumField() {
		tag := t.Field(i).Tag
		out = append(out, setting{key: tag.Get("koanf"), usage: tag.Get("usage"), index: i})
	}
	return out
}

// env is the setting's environment variable.
func (s setting) env() string { return envPrefix + strings.ToUpper(s.key) }

// flag is the setting's flag, without its dashes.
func (s setting) flag() string { return strings.ReplaceAll(s.key, "_", "-") }

// of is the setting's field.
func (s setting) of(c *Config) reflect.Value { return reflect.ValueOf(c).Elem().Field(s.index) }

// AddFlags gives a command a flag for every setting, and --config for the file. They take any text: what is no value is
// told together with everything else that is wrong.
func AddFlags(flags *pflag.FlagSet) {
	flags.String("config", "", "YAML `file` of settings")
	defaults := Default()
	for _, s := range settings() {
		flags.Var(&text{of: kindName(s.of(&defaults))}, s.flag(), s.usage)
		f := flags.Lookup(s.flag())
		f.DefValue = show(s.of(&defaults))
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
