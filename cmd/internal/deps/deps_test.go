// Package deps holds what each binary may not link, found through however many imports.
package deps

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Each pattern stands for an import path and all below it; one that ends with "$" for that path alone; one with "…" for
// every path with that start and that end, such as the fakes and suites of Berth's ports.
func forbidden() map[string][]string {
	everywhere := []string{
		"testing$", "berth/…test", "berth/ports/internal/law", "berth/e2e", "pgregory.net/rapid", "go.uber.org/goleak",
		"github.com/stretchr/testify", "github.com/nats-io",
	}
	// Some libraries of ids name database/sql/driver for its interfaces, and no database comes with that.
	sql := []string{
		"database/sql$", "github.com/uptrace/bun", "modernc.org/sqlite", "github.com/jackc/pgx", "github.com/lib/pq",
		"github.com/mattn/go-sqlite3", "berth/adapters/store", "berth/migrations",
	}
	gin := []string{"github.com/gin-gonic/gin", "berth/adapters/httpapi"}
	// What asks registries and renders charts is the control plane's alone, and heavy.
	releases := []string{
		"helm.sh/helm", "github.com/Masterminds/sprig", "github.com/google/go-containerregistry",
		"berth/adapters/render", "berth/adapters/registry",
	}
	kubernetes := []string{"k8s.io/client-go", "k8s.io/api"}
	return map[string][]string{
		// Helm's library imports testing, to know whether a test runs.
		"berthd":        slices.DeleteFunc(slices.Clone(everywhere), func(p string) bool { return p == "testing$" }),
		"berth-ingress": slices.Concat(everywhere, sql, gin, releases, kubernetes),
		"berth-relay":   slices.Concat(everywhere, gin, releases, kubernetes, []string{"berth/adapters/store", "berth/migrations"}),
		"berth-agent":   slices.Concat(everywhere, sql, gin, releases),
		"berthctl":      slices.Concat(everywhere, sql, gin, releases, kubernetes),
	}
}

// No binary that exists links what it must not, and none is without a row.
func TestBinariesLinkNothingForbidden(t *testing.T) {
	t.Parallel()
	table := forbidden()
	for _, binary := range binaries(t) {
		patterns, ok := table[binary]
		if !ok {
			t.Errorf("cmd/%s has no row in the table of what it may not link", binary)
			continue
		}
		for _, path := range linked(t, "berth/cmd/"+binary) {
			for _, pattern := range patterns {
				if matches(pattern, path) {
					t.Errorf("%s links %s", binary, path)
				}
			}
		}
	}
}

// The check itself can fail: imports are found through other packages, and a pattern matches what it says and no name
// that merely resembles it.
func TestTheCheckCanFail(t *testing.T) {
	t.Parallel()
	paths := linked(t, "berth/ports/signer/signertest")
	if !slices.Contains(paths, "testing") || !slices.Contains(paths, "berth/domain/fault") {
		t.Fatalf("signertest links %v", paths)
	}
	if paths := linked(t, "berth/cmd/berthd"); !slices.Contains(paths, "helm.sh/helm/v4/pkg/engine") {
		t.Fatal("berthd links no engine for charts")
	}
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"database/sql$", "database/sql", true},
		{"database/sql$", "database/sql/driver", false},
		{"modernc.org/sqlite", "modernc.org/sqlite", true},
		{"modernc.org/sqlite", "modernc.org/sqlite/lib", true},
		{"modernc.org/sqlite", "modernc.org/sqliteish", false},
		{"testing", "internal/testing", false},
		{"berth/…test", "berth/ports/clock/clocktest", true},
		{"berth/…test", "berth/ports/clock", false},
		{"berth/…test", "example.com/latest", false},
	} {
		if matches(c.pattern, c.path) != c.want {
			t.Errorf("%q matches %q: not %v", c.pattern, c.path, c.want)
		}
	}
}

func matches(pattern, path string) bool {
	if prefix, suffix, ok := strings.Cut(pattern, "…"); ok {
		return strings.HasPrefix(path, prefix) && strings.HasSuffix(path, suffix)
	}
	if alone, ok := strings.CutSuffix(pattern, "$"); ok {
		return path == alone
	}
	return path == pattern || strings.HasPrefix(path, pattern+"/")
}

// binaries returns the folders of cmd that hold a main package, by name.
func binaries(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "internal" {
			names = append(names, entry.Name())
		}
	}
	return names
}

func linked(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{.ImportPath}}", pkg).Output()
	if err != nil {
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list -deps %s: %v\n%s", pkg, err, failed.Stderr)
		}
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}
