package devnode

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"berth/cmd/internal/secretfile"
)

// Vault stands for the shared backup store: what a source left there by its root, a target takes.
type Vault struct{ dir string }

// OpenVault opens a directory.
func OpenVault(dir string) (*Vault, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Vault{dir}, nil
}

// left is what a source left there, and at which generation.
type left struct {
	Generation int64 `json:"generation"`
	Data       data  `json:"data"`
}

func (v *Vault) put(root string, l left) error {
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return secretfile.Write(v.path(root), text)
}

// take returns the data of a root, once it was found to be what the root says (P4).
func (v *Vault) take(tenant, root string) (data, error) {
	text, err := os.ReadFile(v.path(root))
	if err != nil {
		return data{}, err
	}
	var l left
	if err := json.Unmarshal(text, &l); err != nil {
		return data{}, err
	}
	if l.Data.root(tenant, l.Generation) != root {
		return data{}, fmt.Errorf("what is kept under %s is something else", root)
	}
	return l.Data, nil
}

func (v *Vault) path(root string) string { return filepath.Join(v.dir, filepath.Base(root)+".json") }
