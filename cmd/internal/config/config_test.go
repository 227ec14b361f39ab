package config_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"berth/cmd/internal/config"
)

// fixture is a directory with files that settings name, and the environment of a configuration that is whole.
type fixture struct {
	dir string
	env map[string]string
}

func whole(tb testing.TB) *fixture {
	tb.Helper()
	f := &fixture{dir: tb.TempDir(), env: map[string]string{}}
	f.set("database_url", "sqlite:"+f.path("control.db"))
	f.set("kms_url", "file:"+f.path("keys"))
	f.set("trust_domain", "berth.example")
	f.set("internal_listen", "unix:/run/berth/internal.sock")
	f.set("ingress_secrets_file", f.write(tb, "ingress.json", `{"secrets":[{"id":"one","key":"`+key('a')+`"}],"retired":["zero"]}`))
	return f
}

func key(c byte) string { return base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{c}, 32)) }

func (f *fixture) path(name string) string { return filepath.Join(f.dir, name) }

func (f *fixture) set(setting, value string) { f.env["BERTH_"+strings.ToUpper(setting)] = value }

func (f *fixture) write(tb testing.TB, name, text string) string {
	tb.Helper()
	if err := os.WriteFile(f.path(name), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return f.path(name)
}

func (f *fixture) load(tb testing.TB, args ...string) (*config.Loaded, error) {
	tb.Helper()
	flags := pflag.NewFlagSet("berthd", pflag.ContinueOnError)
	config.AddFlags(flags)
	if err := flags.Parse(args); err != nil {
		tb.Fatal(err)
	}
	var environ []string
	for name, value := range f.env {
		environ = append(environ, name+"="+value)
	}
	return config.Load(config.Sources{Environ: environ, Flags: flags}, config.ForServing)
}

func (f *fixture) mustLoad(tb testing.TB, args ...string) *config.Loaded {
	tb.Helper()
	l, err := f.load(tb, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// problems loads what must be refused.
func (f *fixture) problems(tb testing.TB, args ...string) config.Problems {
	tb.Helper()
	_, err := f.load(tb, args...)
	var all config.Problems
	if !errors.As(err, &all) {
		tb.Fatalf("the configuration is taken, or refused in another way: %v", err)
	}
	return all
}

func about(all config.Problems, setting string) *config.Problem {
	for i := range all {
		if all[i].Key == setting {
			return &all[i]
		}
	}
	return nil
}

// Defaults give way to the file, the file to the environment, the environment to flags.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	f := whole(t)
	file := f.write(t, "berth.yaml", "lease_duration: 20s\nlog_level: warn\nqueue_batch: 50\nquiesce_unprepared: true\n")
	f.set("log_level", "error")
	f.set("queue_batch", "60")
	f.set("log_format", "") // empty counts as not given
	l := f.mustLoad(t, "--config", file, "--queue-batch", "70", "--sweep-interval=2s")
	if l.LeaseDuration != 20*time.Second || l.LogLevel != "error" || l.QueueBatch != 70 || l.LogFormat != "text" ||
		!l.QuiesceUnprepared || l.SweepInterval != 2*time.Second || l.DrainParallelism != 4 {
		t.Fatalf("got %+v", l.Config)
	}
	var out bytes.Buffer
	if err := l.Show(&out); err != nil {
		t.Fatal(err)
	}
	for setting, source := range map[string]string{
		"lease_duration": "file " + file, "log_level": "environment BERTH_LOG_LEVEL", "queue_batch": "flag --queue-batch",
		"drain_parallelism": "default", "log_format": "default",
	} {
		if line := lineOf(out.String(), setting); !strings.HasSuffix(line, "  "+source) {
			t.Errorf("%q does not say %q", line, source)
		}
	}
}

func lineOf(text, setting string) string {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, setting+" ") {
			return line
		}
	}
	return ""
}

// BERTH_CONFIG names the file where no flag does.
func TestFileByEnvironment(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.env["BERTH_CONFIG"] = f.write(t, "berth.yaml", "queue_batch: 50\n")
	if l := f.mustLoad(t); l.QueueBatch != 50 {
		t.Fatalf("got %d", l.QueueBatch)
	}
}

// The use cases get what was set, and the audience of device assertions is where devices find the API.
func TestSettingsReachTheUseCases(t *testing.T) {
	t.Parallel()
	f := whole(t)
	l := f.mustLoad(t, "--lease-margin=6s", "--deadline-copy=5m", "--pairing-life=5m", "--keep-changes=7", "--key-sign-for=48h",
		"--listen=127.0.0.1:9999")
	if s := l.Fleet(); s.Lease.Margin != 6*time.Second || s.Deadlines.Copy != 5*time.Minute || s.TrustDomain != "berth.example" {
		t.Errorf("fleet is set to %+v", s)
	}
	if s := l.Access(); s.PairingLife != 5*time.Minute || s.KeepRevisions != 7 || s.Audience != "https://localhost:9999/v1/devices/token" {
		t.Errorf("access is set to %+v", s)
	}
	if s := l.Trust(); s.Windows.SignFor != 48*time.Hour || s.TrustDomain != "berth.example" {
		t.Errorf("trust is set to %+v", s)
	}
	if s := f.mustLoad(t, "--public-url=https://berth.example").Access(); s.Audience != "https://berth.example/v1/devices/token" {
		t.Errorf("the audience is %s", s.Audience)
	}
}

// Passwords in URLs are never shown, whatever the URL looks like.
func TestNoSecretIsShown(t *testing.T) {
	t.Parallel()
	f := whole(t)
	for url, shown := range map[string]string{
		"s3://user:hunter2@bucket/path?secret=hunter2&region=eu": "region=eu", "s3://user:12/hunter2@bucket/path": "s3://…",
	} {
		f.set("backup_url", url)
		var out bytes.Buffer
		if err := f.mustLoad(t).Show(&out); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); strings.Contains(text, "hunter2") || strings.Contains(text, key('a')) || !strings.Contains(text, shown) {
			t.Fatalf("shown:\n%s", text)
		}
	}
	for _, url := range []string{
		"postgres://user:hunter2@db/berth?password=hunter2", "vault:https://me:hunter2@vault/transit", "pkcs11:token=berth?pin-value=hunter2",
		"postgres://user:hunter2@[bad/", "hunter2",
	} {
		f := whole(t)
		f.set("database_url", url)
		f.set("kms_url", url)
		if text := f.problems(t).Error(); strings.Contains(text, "hunter2") {
			t.Fatalf("%s: complained of as %s", url, text)
		}
	}
}

// Variables that look like mistyped settings are warned of; those of other programs are not.
func TestStrangeVariables(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.env["BERTH_LISTN"] = "x"
	f.env["BERTH_SERVICE_HOST"] = "10.0.0.1"
	f.env["BERTH_INGRESS_UPSTREAM"] = "unix:/x"
	l := f.mustLoad(t)
	if len(l.Warnings) != 1 || l.Warnings[0] != "BERTH_LISTN is no setting; did you mean listen?" {
		t.Fatalf("warned of %q", l.Warnings)
	}
}
