package config

import (
	"net/url"
	"strings"
	"time"

	"berth/cmd/internal/secretfile"
)

// Use is what the settings are for.
type Use int

// The uses.
const (
	ForServing  Use = iota // everything
	ForDatabase            // the database alone, for migrations
)

// judge finds everything that is wrong with the values and with how they fit one another.
func (c Config) judge(f *findings, use Use) {
	c.judgeDatabase(f)
	c.judgeLog(f)
	if use == ForDatabase {
		return
	}
	c.judgeSurroundings(f)
	c.judgeListeners(f)
	c.judgeFiles(f)
	c.judgeTimes(f)
}

func (c Config) judgeLog(f *findings) {
	f.oneOf("log_level", c.LogLevel, "debug", "info", "warn", "error")
	f.oneOf("log_format", c.LogFormat, "text", "json")
}

// judgeSurroundings looks at what the control plane works with.
func (c Config) judgeSurroundings(f *findings) {
	f.oneOf("env", c.Env, Development, Production)
	c.judgeKMS(f)
	scheme, rest, _ := strings.Cut(c.BackupURL, ":")
	if c.BackupURL != "" && (scheme != "file" && scheme != "s3" || rest == "") {
		f.add("backup_url", "must read file:DIR or s3://…", "")
	}
	if c.PublicURL == "" {
		if c.Env == Production {
			f.add("public_url", "is missing", "say at which https://host[:port] devices reach the API")
		}
		return
	}
	if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" || "https://"+u.Host != c.PublicURL {
		f.add("public_url", "must read https://host or https://host:port, with nothing behind it", "")
	}
}

func (c Config) judgeKMS(f *findings) {
	scheme, rest, _ := strings.Cut(c.KMSURL, ":")
	switch scheme {
	case "":
		f.add("kms_url", "is missing", "name a key management service; for development file:DIR")
	case "file":
		if rest == "" || strings.HasPrefix(rest, "//") {
			f.add("kms_url", "must read file:DIR", "name the directory of the keys")
		}
		if c.Env == Production {
			f.add("kms_url", "signing keys in files are for development, and this is production", "name a key management service")
		}
	case "pkcs11", "vault", "awskms", "gcpkms":
		f.add("kms_url", "this build has only keys in files", "use file:DIR, for development")
	default:
		f.add("kms_url", "must read file:DIR, pkcs11:…, vault:…, awskms:… or gcpkms:…", "")
	}
}

// judgeFiles opens every file that the settings name, so that a bad one is found at the start.
func (c Config) judgeFiles(f *findings) {
	if c.IngressSecretsFile == "" {
		f.add("ingress_secrets_file", "is missing", "name the file that the ingress signs by")
	} else if _, err := secretfile.IngressSecrets(c.IngressSecretsFile); err != nil {
		f.take(err, called("ingress_secrets_file"))
	}
	if c.BootstrapTokenFile != "" {
		if _, err := secretfile.BootstrapToken(c.BootstrapTokenFile); err != nil {
			f.take(err, called("bootstrap_token_file"))
		}
	}
	f.pair("tls_", c.TLSCertFile, c.TLSKeyFile)
	f.pair("internal_tls_", c.InternalTLSCertFile, c.InternalTLSKeyFile)
}

// pair judges a certificate and its key, which come together.
func (f *findings) pair(prefix, cert, key string) {
	switch {
	case cert == "" && key == "":
	case key == "":
		f.add(prefix+"key_file", "is missing", "a certificate needs its key")
	case cert == "":
		f.add(prefix+"cert_file", "is missing", "a key needs its certificate")
	default:
		if _, err := secretfile.KeyPair(cert, key); err != nil {
			f.take(err, called(prefix+"key_file"))
		}
	}
}

// judgeTimes asks the use cases what they think of their settings, each by itself and with the others.
func (c Config) judgeTimes(f *findings) {
	s := c.Fleet()
	f.take(s.Lease.Check(), own)
	f.take(s.Deadlines.Check(), own)
	f.take(s.Check(), own)
	f.take(c.Trust().Check(), own)
	if !f.has("public_url") {
		f.take(c.Access().Check(), own)
	}
	f.atLeast("node_rate", c.NodeRate, 1)
	f.atLeast("node_burst", c.NodeBurst, c.NodeRate)
	f.atLeast("source_rate", c.SourceRate, 1)
	f.atLeast("source_burst", c.SourceBurst, c.SourceRate)
	f.atLeast("device_rate", c.DeviceRate, 1)
	f.atLeast("device_burst", c.DeviceBurst, c.DeviceRate)
	f.atLeast("max_connections", c.MaxConnections, 1)
	f.atLeast("max_waiters", c.MaxWaiters, 1)
	f.lasting("stop_grace", c.StopGrace, time.Second, 10*time.Minute)
	if !f.has("lease_margin") { // within which leases are counted
		f.lasting("sweep_interval", c.SweepInterval, 100*time.Millisecond, c.LeaseMargin)
	}
	f.lasting("sweep_access", c.SweepAccess, 100*time.Millisecond, time.Hour)
}

// own translates what a use case calls a setting.
func own(field string) string {
	switch field {
	case "audience":
		return "public_url"
	case "keep_revisions":
		return "keep_changes"
	case "skew":
		return "assertion_skew"
	case "publish_ahead", "sign_for", "verify_after":
		return "key_" + field
	}
	if tail, ok := strings.CutPrefix(field, "deadlines."); ok {
		return "deadline_" + tail
	}
	return strings.ReplaceAll(field, ".", "_")
}

func called(key string) func(string) string { return func(string) string { return key } }
