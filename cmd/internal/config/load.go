package config

import (
	"errors"
	"io"
	"os"
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

// Sources are where settings come from.
type Sources struct {
	Environ []string       // as os.Environ has it
	Flags   *pflag.FlagSet // those of AddFlags, parsed
}

// Loaded is a configuration and where each of its values came from.
type Loaded struct {
	Config
	origin map[string]string // by setting
	// Warnings are what a person probably did not mean; they refuse nothing.
	Warnings []string
}

const maxFile = 1 << 20

// Load reads every source and judges what it found: as much as the use asks for. The error is Problems: everything that
// is wrong, at once.
func Load(s Sources, use Use) (*Loaded, error) {
	l := &Loaded{Config: Default(), origin: map[string]string{}}
	f := &findings{origin: l.origin}
	merged := koanf.New(".")
	for _, layer := range s.layers(f) {
		if err := merged.Merge(layer.values); err != nil {
			f.add("", "the configuration can not be put together", "")
		}
		for _, key := range layer.values.Keys() {
			l.origin[key] = layer.name(key)
		}
	}
	for _, one := range settings() {
		if problem := decode(merged.Get(one.key), one.of(&l.Config)); problem != "" {
			f.add(one.key, problem, "")
		}
	}
	l.Config.judge(f, use)
	l.Warnings = s.strangers()
	if len(f.all) > 0 {
		return nil, f.sorted()
	}
	return l, nil
}

// layer is one source of settings.
type layer struct {
	values *koanf.Koanf
	name   func(key string) string
}

// layers are the sources, the weakest first.
func (s Sources) layers(f *findings) []layer {
	return []layer{
		{load(confmap.Provider(defaults(), "."), nil), func(string) string { return "default" }},
		s.file(f),
		{load(s.environment(), nil), func(key string) string { return "environment " + envPrefix + strings.ToUpper(key) }},
		{load(s.flags(), nil), func(key string) string { return "flag --" + strings.ReplaceAll(key, "_", "-") }},
	}
}

// load reads a source in memory, which can not fail.
func load(p koanf.Provider, parser koanf.Parser) *koanf.Koanf {
	k := koanf.New(".")
	_ = k.Load(p, parser)
	return k
}

func defaults() map[string]any {
	c := Default()
	out := map[string]any{}
	for _, s := range settings() {
		out[s.key] = show(s.of(&c))
	}
	return out
}

// environment reads the variables of settings. One that is empty counts as not given.
func (s Sources) environment() koanf.Provider {
	known := byEnv()
	return env.Provider("", env.Opt{
		Prefix: envPrefix, EnvironFunc: func() []string { return s.Environ },
		TransformFunc: func(name, value string) (string, any) {
			if value == "" {
				return "", nil
			}
			return known[name], value
		},
	})
}

func byEnv() map[string]string {
	out := map[string]string{}
	for _, s := range settings() {
		out[s.env()] = s.key
	}
	return out
}

func (s Sources) flags() koanf.Provider {
	known := map[string]string{}
	for _, one := range settings() {
		known[one.flag()] = one.key
	}
	set := s.Flags
	if set == nil {
		set = pflag.NewFlagSet("none", pflag.ContinueOnError)
	}
	return posflag.ProviderWithFlag(set, "", nil, func(f *pflag.Flag) (string, any) { return known[f.Name], f.Value.String() })
}

// file reads the YAML file that --config, or else BERTH_CONFIG, names.
func (s Sources) file(f *findings) layer {
	path := s.path()
	out := layer{koanf.New("."), func(string) string { return "file " + path }}
	if path == "" {
		return out
	}
	data, err := readFile(path)
	if err != nil {
		f.add("", err.Error(), "name a file that can be read")
		return out
	}
	// The parser's message may repeat what stands in the file, and somebody may have put a secret there.
	if out.values.Load(rawbytes.Provider(data), yaml.Parser()) != nil {
		f.add("", path+" is not YAML of the form \"setting: value\", each setting once", "berthd serve --help lists the settings")
		return layer{koanf.New("."), out.name}
	}
	known := settings()
	for _, key := range out.values.Keys() {
		if slices.ContainsFunc(known, func(s setting) bool { return s.key == key }) {
			continue
		}
		f.origin[key] = out.name(key)
		f.add(key, "there is no such setting", nearest(key))
	}
	return out
}

func (s Sources) path() string {
	if s.Flags != nil {
		if f := s.Flags.Lookup("config"); f != nil && f.Changed {
			return f.Value.String()
		}
	}
	for _, pair := range s.Environ {
		if path, ok := strings.CutPrefix(pair, envPrefix+"CONFIG="); ok {
			return path
		}
	}
	return ""
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
