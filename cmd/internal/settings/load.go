package settings

import (
	"reflect"
	"strings"

	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// Program is what has settings: those of the struct C.
type Program[C any] struct {
	// Prefix begins the name of each environment variable, such as BERTH_RELAY_.
	Prefix string
	// Help is the command that lists the settings, such as berth-relay serve --help.
	Help string
	// Default makes what holds where nothing is said.
	Default func() C
	// Others are variables with the prefix that belong to somebody else; one that ends in _ stands for all that begin so.
	Others []string
}

// Sources are where settings come from.
type Sources struct {
	Environ []string       // as os.Environ has it
	Flags   *pflag.FlagSet // those of AddFlags, parsed; nil for none
}

// Production says whether BERTH_ENV, which all programs of a deployment share, is production.
func (s Sources) Production() bool { return s.variable("BERTH_ENV") == "production" }

// variable is the first of its name in the environment, as os.Getenv would find it.
func (s Sources) variable(name string) string {
	for _, pair := range s.Environ {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// Loaded are settings that were judged good, and where each came from.
type Loaded[C any] struct {
	Values C
	// Warnings are what a person probably did not mean; they refuse nothing.
	Warnings []string
	fields   []field
	origin   map[string]string // by setting
}

// Load reads every source and has what it found judged. The error is Problems: everything that is wrong, at once.
func (p Program[C]) Load(from Sources, judge func(C, *Findings)) (*Loaded[C], error) {
	l := &Loaded[C]{Values: p.Default(), fields: p.fields(), origin: map[string]string{}}
	r := reader{Sources: from, prefix: p.Prefix, help: p.Help, fields: l.fields, others: p.Others}
	f := &Findings{origin: l.origin}
	values := reflect.ValueOf(&l.Values).Elem()
	merged := koanf.New(".")
	for _, layer := range r.layers(values, f) {
		if err := merged.Merge(layer.values); err != nil {
			f.Add("", "the configuration can not be put together", "")
		}
		for _, key := range layer.values.Keys() {
			l.origin[key] = layer.name(key)
		}
	}
	for _, one := range l.fields {
		if problem := decode(merged.Get(one.key), one.of(values)); problem != "" {
			f.Add(one.key, problem, "")
		}
	}
	judge(l.Values, f)
	l.Warnings = r.strangers()
	if len(f.all) > 0 {
		for _, w := range l.Warnings { // a setting that is missing may be one whose name was misspelt
			f.Add("", w, "")
		}
		return nil, f.sorted(l.fields)
	}
	return l, nil
}

func (Program[C]) fields() []field { return fields(reflect.TypeFor[C]()) }
