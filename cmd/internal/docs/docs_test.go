package docs

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the pages instead of comparing them")

// The pages under docs/ say what the code says.
func TestPagesAreFresh(t *testing.T) {
	for name, page := range map[string]string{"state-diagrams.md": StateDiagrams(), "access-table.md": AccessTable()} {
		path := filepath.Join("..", "..", "..", "docs", name)
		if *update {
			if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil || string(have) != page {
			t.Errorf("docs/%s is not what the code says (%v): run make generate", name, err)
		}
	}
}
