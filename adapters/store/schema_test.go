package store

import (
	"testing"
	"testing/fstest"
)

// The steps of a schema are numbered from 1 without gaps, so that none is forgotten or named twice.
func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		good  bool
	}{
		"in order":  {[]string{"0001_a.sql", "0002_b.sql"}, true},
		"a gap":     {[]string{"0001_a.sql", "0003_b.sql"}, false},
		"twice":     {[]string{"0001_a.sql", "0001_b.sql"}, false},
		"from 0":    {[]string{"0000_a.sql"}, false},
		"no name":   {[]string{"0001.sql"}, false},
		"no number": {[]string{"first_a.sql"}, false},
	} {
		files := fstest.MapFS{}
		for _, file := range c.files {
			files["x/"+file] = &fstest.MapFile{Data: []byte("-- readable from version 1\nSELECT 1")}
		}
		steps, err := Migrations(files, "x")
		if (err == nil) != c.good || c.good && (len(steps) != 2 || steps[1].Name != "b" || len(steps[1].Checksum) != 64) {
			t.Errorf("%s gave %+v, %v", name, steps, err)
		}
	}
}
