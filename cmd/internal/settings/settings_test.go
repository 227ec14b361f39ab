package settings_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"berth/cmd/internal/settings"
)

// sample has a setting of each type.
type sample struct {
	Name    string        `koanf:"name" usage:"who it is"`
	BaseURL string        `koanf:"base_url" usage:"where it is"`
	Life    time.Duration `koanf:"life" usage:"how long"`
	Count   int           `koanf:"count" usage:"how many"`
	Eager   bool          `koanf:"eager" usage:"whether at once"`
	Pins    []string      `koanf:"pins" usage:"which"`
	Listen  string        `koanf:"listen" usage:"where it listens"`
	Metrics string        `koanf:"metrics_listen" usage:"where its metrics are"`
	Offset  time.Duration `koanf:"clock_offset" usage:"of the clock"`
}

func program() settings.Program[sample] {
	return settings.Program[sample]{
		Prefix: "SAMPLE_", Help: "sample --help", Others: []string{"SAMPLE_CHILD_", "SAMPLE_TOKEN"},
		Default: func() sample {
			return sample{Name: "nobody", Life: time.Minute, Count: 4, Listen: "127.0.0.1:1", Metrics: settings.Off}
		},
	}
}

func judge(from settings.Sources) func(sample, *settings.Findings) {
	return func(c sample, f *settings.Findings) {
		f.OneOf("name", c.Name, "nobody", "somebody", "me")
		f.Lasting("life", c.Life, time.Second, time.Hour)
		f.Between("count", c.Count, 1, 9)
		f.Listener("listen", c.Listen, false, "listen on loopback")
		f.Apart(settings.Listening{Key: "listen", Address: c.Listen}, settings.Listening{Key: "metrics_listen", Address: c.Metrics})
		f.ClockOffset("clock_offset", c.Offset, from.Production())
	}
}

func load(tb testing.TB, environ []string, args ...string) (*settings.Loaded[sample], error) {
	tb.Helper()
	flags := pflag.NewFlagSet("sample", pflag.ContinueOnError)
	program().AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		tb.Fatal(err)
	}
	from := settings.Sources{Environ: environ, Flags: flags}
	return program().Load(from, judge(from))
}

func file(tb testing.TB, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "sample.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Each program has its own prefix, and a flag goes before the environment, that before the file, that before the default;
// what is shown says which it was, and hides passwords.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	path := file(t, "name: me\nlife: 2m\ncount: 2\nbase_url: https://me:hunter2@host/\neager: true\npins: [a, b]\n")
	l, err := load(t, []string{
		"SAMPLE_CONFIG=" + path, "SAMPLE_LIFE=3m", "SAMPLE_COUNT=3", "SAMPLE_NAME=", "BERTH_COUNT=9", "SAMPLE_PINS=x, y",
	}, "--count=5")
	if err != nil {
		t.Fatal(err)
	}
	if v := l.Values; v.Name != "me" || v.Life != 3*time.Minute || v.Count != 5 || !v.Eager || !slices.Equal(v.Pins, []string{"x", "y"}) {
		t.Fatalf("got %+v", v)
	}
	var shown bytes.Buffer
	if err := l.Show(&shown); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(shown.String()), "\n")
	for i, ending := range []string{
		"  file " + path, "  file " + path, "  environment SAMPLE_LIFE", "  flag --count", "  file " + path,
		"  environment SAMPLE_PINS", "  default", "  default", "  default",
	} {
		if !strings.HasSuffix(lines[i], ending) {
			t.Errorf("%q does not end in %q", lines[i], ending)
		}
	}
	if strings.Contains(shown.String(), "hunter2") {
		t.Errorf("a password is shown:\n%s", &shown)
	}
}

// All that is wrong is said at once, in the order of the settings, what concerns none of them first.
func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	path := file(t, "coutn: 3\nlife: 2h\n")
	_, err := load(t, []string{"SAMPLE_CONFIG=" + path, "SAMPLE_NAME=he", "SAMPLE_METRICS_LISTEN=0.0.0.0:1"}, "--count=many", "--listen=0.0.0.0:1")
	var all settings.Problems
	if !errors.As(err, &all) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, p := range all {
		got = append(got, p.Key)
	}
	if want := []string{"coutn", "name", "life", "count", "listen", "metrics_listen"}; !slices.Equal(got, want) {
		t.Fatalf("%q, want %q:\n%v", got, want, err)
	}
	if text := all[0].String(); !strings.Contains(text, "did you mean count?") || !strings.Contains(text, "file "+path) {
		t.Errorf("says %q", text)
	}
	if text := all[5].String(); !strings.Contains(text, "the address of listen already") {
		t.Errorf("says %q", text)
	}
}

// A variable that resembles a setting is warned of; one that is known to be somebody else's, or resembles none, is not.
func TestStrangers(t *testing.T) {
	t.Parallel()
	l, err := load(t, []string{"SAMPLE_COUNTS=1", "SAMPLE_CHILD_COUNT=1", "SAMPLE_TOKEN=x", "SAMPLE_SERVICE_PORT=1", "SAMPLE_CONFIG="})
	if err != nil || !slices.Equal(l.Warnings, []string{"SAMPLE_COUNTS is no setting; did you mean count?"}) {
		t.Fatalf("warned of %q (%v)", l.Warnings, err)
	}
}

// A clock is shifted for tests, within what a duration holds, and never in production.
func TestClockOffset(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env, offset string
		taken       bool
	}{
		{"production", "0s", true}, {"production", "1s", false}, {"development", "-48h", true}, {"", "8760h", true}, {"", "100000h", false},
	} {
		_, err := load(t, []string{"BERTH_ENV=" + c.env, "SAMPLE_CLOCK_OFFSET=" + c.offset})
		if (err == nil) != c.taken {
			t.Errorf("%s in %q: %v", c.offset, c.env, err)
		}
	}
}

// The logger writes what its level lets through, in the form that is asked for.
func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := settings.Logger(&out, "warn", "json")
	log.Info("quiet")
	log.Warn("loud", "n", 1)
	if text := out.String(); strings.Contains(text, "quiet") || !strings.Contains(text, `"msg":"loud","n":1}`) {
		t.Errorf("wrote %s", text)
	}
}

// A name that was misspelt is told of along with what is wrong, since it may be why something is.
func TestStrangersAmongProblems(t *testing.T) {
	t.Parallel()
	_, err := load(t, []string{"SAMPLE_COUNTS=3", "SAMPLE_COUNT=0"})
	if err == nil || !strings.Contains(err.Error(), "SAMPLE_COUNTS is no setting; did you mean count?") {
		t.Fatalf("found %v", err)
	}
}
