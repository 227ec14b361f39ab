package settings

import (
	"errors"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

const maxFile = 1 << 20

// reader reads the sources of one program.
type reader struct {
	Sources
	prefix string
	help   string
	fields []field
	others []string
}

// layer is one source of settings.
type layer struct {
	values *koanf.Koanf
	name   func(key string) string
}

// layers are the sources, the weakest first.
func (r reader) layers(defaults reflect.Value, f *Findings) []layer {
	return []layer{
		{load(confmap.Provider(r.texts(defaults), "."), nil), func(string) string { return "default" }},
		r.file(f),
		{load(r.environment(), nil), func(key string) string { return "environment " + r.prefix + strings.ToUpper(key) }},
		{load(r.flags(), nil), func(key string) string { return "flag --" + strings.ReplaceAll(key, "_", "-") }},
	}
}

// load reads a source in memory, which can not fail.
func load(p koanf.Provider, parser koanf.Parser) *koanf.Koanf {
	k := koanf.New(".")
	_ = k.Load(p, parser)
	return k
}

func (r reader) texts(values reflect.Value) map[string]any {
	out := map[string]any{}
	for _, s := range r.fields {
		out[s.key] = show(s.of(values))
	}
	return out
}

// environment reads the variables of settings. One that is empty counts as not given.
func (r reader) environment() koanf.Provider {
	known := r.byEnv()
	return env.Provider("", env.Opt{
		Prefix: r.prefix, EnvironFunc: func() []string { return r.Environ },
		TransformFunc: func(name, value string) (string, any) {
			if value == "" {
				return "", nil
			}
			return known[name], value
		},
	})
}

func (r reader) byEnv() map[string]string {
	out := map[string]string{}
	for _, s := range r.fields {
		out[s.env(r.prefix)] = s.key
	}
	return out
}

func (r reader) flags() koanf.Provider {
	known := map[string]string{}
	for _, one := range r.fields {
		known[one.flag()] = one.key
	}
	set := r.Flags
	if set == nil {
		set = pflag.NewFlagSet("none", pflag.ContinueOnError)
	}
	return posflag.ProviderWithFlag(set, "", nil, func(f *pflag.Flag) (string, any) { return known[f.Name], f.Value.String() })
}

// file reads the YAML file that --config, or else PREFIX_CONFIG, names.
func (r reader) file(f *Findings) layer {
	path := r.path()
	out := layer{koanf.New("."), func(string) string { return "file " + path }}
	if path == "" {
		return out
	}
	data, err := readFile(path)
	if err != nil {
		f.Add("", err.Error(), "name a file that can be read")
		return out
	}
	// The parser's message may repeat what stands in the file, and somebody may have put a secret there.
	if out.values.Load(rawbytes.Provider(data), yaml.Parser()) != nil {
		f.Add("", path+" is not YAML of the form \"setting: value\", each setting once", r.help+" lists the settings")
		return layer{koanf.New("."), out.name}
	}
	for _, key := range out.values.Keys() {
		if slices.ContainsFunc(r.fields, func(s field) bool { return s.key == key }) {
			continue
		}
		f.origin[key] = out.name(key)
		f.Add(key, "there is no such setting", r.nearest(key))
	}
	return out
}

func (r reader) path() string {
	if r.Flags != nil {
		if f := r.Flags.Lookup("config"); f != nil && f.Changed {
			return f.Value.String()
		}
	}
	return r.variable(r.prefix + "CONFIG")
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = errors.New(path + " has more than a mebibyte")
	}
	return data, err
}
