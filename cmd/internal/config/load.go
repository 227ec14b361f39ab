package config

import (
	"github.com/spf13/pflag"

	"berth/cmd/internal/settings"
)

// Sources are where settings come from.
type Sources = settings.Sources

// Problems are everything that is wrong with the settings, in their order.
type Problems = settings.Problems

// Problem is one thing that is wrong with the settings.
type Problem = settings.Problem

// Loaded is a configuration, and where each of its values came from.
type Loaded struct {
	Config
	*settings.Loaded[Config]
}

// program is berthd. Kubernetes puts variables of the same prefix into every pod beside a service named berth; those that
// resemble no setting are let pass.
func program() settings.Program[Config] {
	return settings.Program[Config]{
		Prefix: "BERTH_", Help: "berthd serve --help", Default: Default,
		Others: []string{"BERTH_INGRESS_", "BERTH_RELAY_", "BERTH_AGENT_", "BERTH_URL", "BERTH_TOKEN"},
	}
}

// AddFlags gives a command a flag for every setting, and --config for the file.
func AddFlags(flags *pflag.FlagSet) { program().AddFlags(flags) }

// Load reads every source and judges what it found: as much as the use asks for. The error is Problems: everything that
// is wrong, at once.
func Load(s Sources, use Use) (*Loaded, error) {
	l, err := program().Load(s, func(c Config, f *settings.Findings) { c.judge(f, use) })
	if err != nil {
		return nil, err
	}
	return &Loaded{Config: l.Values, Loaded: l}, nil
}
