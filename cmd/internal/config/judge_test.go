package config_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"berth/cmd/internal/config"
	"berth/cmd/internal/devca"
)

// Each bad value is refused under its own name, with what would do.
func TestEachBadSettingIsNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ setting, value, says string }{
		{"env", "staging", "development or production"},
		{"database_url", "mysql://x", "sqlite:PATH or postgres"},
		{"database_url", "sqlite:", "sqlite:PATH"},
		{"database_url", "postgres://db", "USER@HOST/NAME"},
		{"kms_url", "vault:https://v", "only keys in files"},
		{"kms_url", "file:", "file:DIR"},
		{"kms_url", "https://kms", "must read file:DIR"},
		{"backup_url", "ftp://x", "file:DIR or s3"},
		{"trust_domain", "Berth.Example", "trust domain"},
		{"public_url", "http://berth.example", "https://host"},
		{"public_url", "https://berth.example/api", "https://host"},
		{"listen", "8440", "host:port"},
		{"listen", "127.0.0.1:99999", "65535"},
		{"listen", "0.0.0.0:8440", "no certificate"},
		{"listen", "berth.example:8440", "no certificate"},
		{"metrics_listen", ":9000", "no certificate"},
		{"metrics_listen", "127.0.0.1:8440", "the address of listen"},
		{"enroll_listen", "10.0.0.1:8443", "no certificate"},
		{"internal_listen", "unix:", "Unix socket"},
		{"internal_listen", "unix:/run/" + strings.Repeat("x", 100), "at most"},
		{"internal_listen", "unix:/run/../x", "Unix socket"},
		{"internal_socket_mode", "0666", "0600 or 0660"},
		{"internal_client_pins", "abc", "64 hex digits"},
		{"ingress_secrets_file", "/nowhere/secrets.json", "can not be read"},
		{"bootstrap_token_file", "/nowhere/token", "can not be read"},
		{"external_roots_file", "/nowhere/roots.pem", "can not be read"},
		{"ca", "step-ca", "builtin or none"},
		{"lease_duration", "fast", "must be a duration"},
		{"lease_duration", "100ms", "between 1 s"},
		{"lease_margin", "1s", "a tenth of the lease"},
		{"lease_drift_percent", "0", "1 to 100"},
		{"lease_drift_percent", "ten", "whole number"},
		{"deadline_quiesce", "2s", "look"},
		{"deadline_drain", "10s", "lease"},
		{"deadline_copy", "1000h", "7 days"},
		{"quiesce_unprepared", "perhaps", "true or false"},
		{"drain_parallelism", "0", "between 1"},
		{"token_life", "1h", "between"},
		{"pairing_life", "1s", "between"},
		{"keep_changes", "0", "between"},
		{"assertion_skew", "2m", "between"},
		{"key_verify_after", "1m", "the last thing it signed"},
		{"node_rate", "0", "between"},
		{"node_burst", "1", "between"},
		{"sweep_interval", "1m", "between"},
		{"max_connections", "-1", "between"},
		{"stop_grace", "0s", "between"},
		{"log_level", "loud", "debug, info, warn or error"},
		{"log_format", "xml", "text or json"},
		{"clock_offset", "100000h", "between"},
	} {
		f := whole(t)
		if c.setting == "lease_margin" {
			f.set("lease_duration", "20s")
		}
		f.set(c.setting, c.value)
		p := about(f.problems(t), c.setting)
		if p == nil || !strings.Contains(p.String(), c.says) || p.Source != "environment BERTH_"+strings.ToUpper(c.setting) {
			t.Errorf("%s=%s: got %v, which does not say %q", c.setting, c.value, p, c.says)
		}
	}
}

// Everything that is wrong is told at once, with where it comes from and what to do.
func TestEveryProblemAtOnce(t *testing.T) {
	t.Parallel()
	f := &fixture{dir: t.TempDir(), env: map[string]string{}}
	f.set("log_level", "loud")
	file := f.write(t, "berth.yaml", "lease_margin: soon\nlisten: 0.0.0.0:1\ncolour: red\nlisen: x\n")
	all := f.problems(t, "--config", file, "--queue-batch=many")
	for _, setting := range []string{
		"database_url", "kms_url", "trust_domain", "internal_listen", "ingress_secrets_file", "log_level", "lease_margin", "listen",
		"colour", "lisen", "queue_batch",
	} {
		if about(all, setting) == nil {
			t.Errorf("nothing is said of %s", setting)
		}
	}
	text := all.Error()
	for _, part := range []string{
		"11 things are wrong", "lisen: there is no such setting (from file " + file + "); did you mean listen?",
		"queue_batch: must be a whole number (from flag --queue-batch)",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// A listener that others can reach is taken with a certificate; the internal one with pinned clients, too.
func TestListenersBehindTLS(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.keyPair(t, "tls")
	f.set("tls_cert_file", f.path("tls.pem"))
	f.set("tls_key_file", f.path("tls-key.pem"))
	f.set("listen", "0.0.0.0:8440")
	f.set("metrics_listen", "0.0.0.0:8449")
	f.mustLoad(t)
	f.set("internal_listen", "127.0.0.1:8441")
	all := f.problems(t)
	if about(all, "internal_tls_cert_file") == nil || about(all, "internal_client_pins") == nil {
		t.Fatalf("an internal TCP listener without TLS is taken: %v", all)
	}
	f.set("internal_tls_cert_file", f.path("tls.pem"))
	f.set("internal_tls_key_file", f.path("tls-key.pem"))
	f.set("internal_client_pins", strings.Repeat("ab", 32)+" , "+strings.Repeat("cd", 32))
	if l := f.mustLoad(t); len(l.InternalClientPins) != 2 {
		t.Fatalf("got pins %q", l.InternalClientPins)
	}
}

// An ingress within the process has a certificate, an address of its own, and a socket to the control plane.
func TestIngressWithin(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.keyPair(t, "in")
	f.set("ingress_listen", "0.0.0.0:8443")
	if about(f.problems(t), "ingress_cert_file") == nil {
		t.Error("an ingress without a certificate is taken")
	}
	f.set("ingress_cert_file", f.path("in.pem"))
	if about(f.problems(t), "ingress_key_file") == nil {
		t.Error("a certificate without its key is taken")
	}
	f.set("ingress_key_file", f.path("in-key.pem"))
	f.mustLoad(t)
	f.set("ingress_listen", "127.0.0.1:8440")
	if about(f.problems(t), "ingress_listen") == nil {
		t.Error("the address of another listener is taken")
	}
	f.set("ingress_listen", "0.0.0.0:8443")
	f.set("internal_tls_cert_file", f.path("in.pem"))
	f.set("internal_tls_key_file", f.path("in-key.pem"))
	f.set("internal_client_pins", strings.Repeat("ab", 32))
	f.set("internal_listen", "127.0.0.1:8441")
	if about(f.problems(t), "ingress_listen") == nil {
		t.Error("an internal listener that is no socket is taken")
	}
}

// Half a key pair, a pair that does not fit, and a key that others may read are refused.
func TestKeyPairs(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.keyPair(t, "a")
	f.keyPair(t, "b")
	f.set("tls_cert_file", f.path("a.pem"))
	if about(f.problems(t), "tls_key_file") == nil {
		t.Error("a certificate without a key is taken")
	}
	f.set("tls_key_file", f.path("b-key.pem"))
	if about(f.problems(t), "tls_key_file") == nil {
		t.Error("another certificate's key is taken")
	}
	f.set("tls_key_file", f.path("a-key.pem"))
	f.mustLoad(t)
	if err := os.Chmod(f.path("a-key.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	if p := about(f.problems(t), "tls_key_file"); p == nil || !strings.Contains(p.Cure, "chmod 600") {
		t.Errorf("an open key: %v", p)
	}
}

// Production refuses what is for development, and wants to know where devices find it.
func TestProduction(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.set("env", config.Production)
	all := f.problems(t)
	if about(all, "kms_url") == nil || about(all, "public_url") == nil {
		t.Fatalf("got %v", all)
	}
	if about(all, "clock_offset") != nil {
		t.Errorf("a clock that is not shifted is refused: %v", all)
	}
	f.set("clock_offset", "-1s")
	if about(f.problems(t), "clock_offset") == nil {
		t.Error("production takes a shifted clock")
	}
}

// A file that is no plain YAML of settings is refused without repeating what stands in it.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not YAML": "hunter2: [", "doubled": "listen: hunter2\nlisten: hunter2\n", "a list": "- hunter2\n", "nested": "listen:\n  hunter2: hunter2\n",
		"wrong type": "trust_domain: {a: hunter2}\n", "a number for a text": "internal_socket_mode: 0600\n",
	} {
		f := whole(t)
		all := f.problems(t, "--config", f.write(t, "berth.yaml", text))
		if text := strings.ReplaceAll(all.Error(), "listen.hunter2", ""); strings.Contains(text, "hunter2") {
			t.Errorf("%s: the complaint repeats the file: %s", name, text)
		}
	}
	f := whole(t)
	f.problems(t, "--config", f.path("absent.yaml"))
}

// For migrations the database alone has to be set.
func TestDatabaseAlone(t *testing.T) {
	t.Parallel()
	l, err := config.Load(config.Sources{Environ: []string{"BERTH_DATABASE_URL=sqlite:x.db"}}, config.ForDatabase)
	if err != nil || l.DatabaseURL != "sqlite:x.db" {
		t.Fatalf("got %v", err)
	}
	if _, err := config.Load(config.Sources{}, config.ForDatabase); err == nil {
		t.Fatal("no database is taken")
	}
}

// Without a CA of its own a control plane is set to believe one outside; the file is judged at the start, by the clock
// that the process will have.
func TestRootsOfOtherCAs(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.set("ca", "none")
	if p := about(f.problems(t), "external_roots_file"); p == nil || !strings.Contains(p.String(), "ca is none") {
		t.Errorf("without anybody to believe: %v", p)
	}
	ca, err := devca.Open(f.dir, "berth.example", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f.set("external_roots_file", ca.File())
	if l := f.mustLoad(t); l.CA != config.CANone {
		t.Errorf("ca is %q", l.CA)
	}
	f.set("clock_offset", "20000h")
	if p := about(f.problems(t), "external_roots_file"); p == nil || !strings.Contains(p.String(), "ended at") {
		t.Errorf("past its end: %v", p)
	}
	delete(f.env, "BERTH_CLOCK_OFFSET")
	if err := os.Chmod(ca.File(), 0o664); err != nil {
		t.Fatal(err)
	}
	if p := about(f.problems(t), "external_roots_file"); p == nil || !strings.Contains(p.String(), "chmod go-w") {
		t.Errorf("open to others: %v", p)
	}
	f.set("external_roots_file", f.write(t, "empty.pem", ""))
	if p := about(f.problems(t), "external_roots_file"); p == nil || !strings.Contains(p.String(), "there is none") {
		t.Errorf("an empty file: %v", p)
	}
}
