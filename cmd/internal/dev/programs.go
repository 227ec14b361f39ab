package dev

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// binVariable names a directory with the programs that run beside this one; where it is not given they are where this
// one is.
const binVariable = "BERTH_DEV_BIN"

// programs finds what runs beside the control plane, by name, and berthctl where that is there too.
func programs(environ []string) (map[string]string, error) {
	dir, err := binDir(environ)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	var missing []string
	for _, name := range []string{"berth-ingress", "berth-relay"} {
		path := filepath.Join(dir, name)
		if !executable(path) {
			missing = append(missing, name)
		}
		found[name] = path
	}
	if terminal := filepath.Join(dir, "berthctl"); executable(terminal) {
		found["berthctl"] = terminal
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("berthd dev also runs %s, and %s has no such program; make build puts them there, or %s names their directory",
			strings.Join(missing, " and "), dir, binVariable)
	}
	return found, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}

func binDir(environ []string) (string, error) {
	i := slices.IndexFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, binVariable+"=") })
	if i >= 0 && environ[i] != binVariable+"=" {
		return filepath.Abs(strings.TrimPrefix(environ[i], binVariable+"="))
	}
	self, err := os.Executable()
	return filepath.Dir(self), err
}

// overlay is an environment in which these variables, without the prefix, are as given, and the others as they were.
func overlay(environ []string, prefix string, own map[string]string) []string {
	var all []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if _, ours := own[strings.TrimPrefix(name, prefix)]; !ours || !strings.HasPrefix(name, prefix) {
			all = append(all, pair)
		}
	}
	for name, value := range own {
		all = append(all, prefix+name+"="+value)
	}
	return all
}
