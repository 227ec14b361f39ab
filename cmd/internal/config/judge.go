package config

import (
	"net/url"
	"strings"
	"time"

	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

// Use is what the settings are for.
type Use int

// The uses.
const (
	ForServing  Use = iota // everything
	ForDatabase            // the database alone, for migrations
)

// judge finds everything that is wrong with the values and with how they fit one another.
func (c Config) judge(f *settings.Findings, use Use) {
	c.judgeDatabase(f)
	f.Log("log_level", c.LogLevel, "log_format", c.LogFormat)
	if use == ForDatabase {
		return
	}
	c.judgeSurroundings(f)
	c.judgeListeners(f)
	c.judgeFiles(f)
	c.judgeTimes(f)
}

// judgeSurroundings looks at what the control plane works with.
func (c Config) judgeSurroundings(f *settings.Findings) {
	f.OneOf("env", c.Env, Development, Production)
	f.ClockOffset("clock_offset", c.ClockOffset, c.Env == Production)
	c.judgeKMS(f)
	scheme, rest, _ := strings.Cut(c.BackupURL, ":")
	if c.BackupURL != "" && (scheme != "file" && scheme != "s3" || rest == "") {
		f.Add("backup_url", "must read file:DIR or s3://…", "")
	}
	if c.PublicURL == "" {
		if c.Env == Production {
			f.Add("public_url", "is missing", "say at which https://host[:port] devices reach the API")
		}
		return
	}
	if u, err := url.Parse(c.PublicURL); err != nil || u.Host == "" || "https://"+u.Host != c.PublicURL {
		f.Add("public_url", "must read https://host or https://host:port, with nothing behind it", "")
	}
}

func (c Config) judgeKMS(f *settings.Findings) {
	scheme, rest, _ := strings.Cut(c.KMSURL, ":")
	switch scheme {
	case "":
		f.Add("kms_url", "is missing", "name a key management service; for development file:DIR")
	case "file":
		if rest == "" || strings.HasPrefix(rest, "//") {
			f.Add("kms_url", "must read file:DIR", "name the directory of the keys")
		}
		if c.Env == Production {
			f.Add("kms_url", "signing keys in files are for development, and this is production", "name a key management service")
		}
	case "pkcs11", "vault", "awskms", "gcpkms":
		f.Add("kms_url", "this build has only keys in files", "use file:DIR, for development")
	default:
		f.Add("kms_url", "must read file:DIR, pkcs11:…, vault:…, awskms:… or gcpkms:…", "")
	}
}

// judgeFiles opens every file that the settings name, so that a bad one is found at the start.
func (c Config) judgeFiles(f *settings.Findings) {
	if c.IngressSecretsFile == "" {
		f.Add("ingress_secrets_file", "is missing", "name the file that the ingress signs by")
	} else if _, err := secretfile.IngressSecrets(c.IngressSecretsFile); err != nil {
		f.Take(err, settings.Called("ingress_secrets_file"))
	}
	if c.BootstrapTokenFile != "" {
		if _, err := secretfile.BootstrapToken(c.BootstrapTokenFile); err != nil {
			f.Take(err, settings.Called("bootstrap_token_file"))
		}
	}
	c.judgeRoots(f)
	f.Pair("tls_cert_file", c.TLSCertFile, "tls_key_file", c.TLSKeyFile)
	f.Pair("internal_tls_cert_file", c.InternalTLSCertFile, "internal_tls_key_file", c.InternalTLSKeyFile)
}

// judgeRoots wants somebody to be believed who signs for nodes.
func (c Config) judgeRoots(f *settings.Findings) {
	f.OneOf("ca", c.CA, CABuiltIn, CANone)
	switch {
	case c.ExternalRootsFile != "":
		if _, err := secretfile.ExternalRoots(c.ExternalRootsFile, time.Now().Add(c.ClockOffset)); err != nil {
			f.Take(err, settings.Called("external_roots_file"))
		}
	case c.CA == CANone:
		f.Add("external_roots_file", "is missing, and ca is none", "name the file with the roots of the CA that signs for nodes")
	}
}

// judgeTimes asks the use cases what they think of their settings, each by itself and with the others.
func (c Config) judgeTimes(f *settings.Findings) {
	s := c.Fleet()
	f.Take(s.Lease.Check(), own)
	f.Take(s.Deadlines.Check(), own)
	f.Take(s.Check(), own)
	f.Take(c.Trust().Check(), own)
	if !f.Has("public_url") {
		f.Take(c.Access().Check(), own)
		f.Take(c.Desired().Check(), own)
	}
	f.Take(c.Market().Check(), own)
	f.AtLeast("market_fail_rate", c.MarketFailRate, 1)
	f.AtLeast("market_fail_burst", c.MarketFailBurst, 1)
	f.AtLeast("node_rate", c.NodeRate, 1)
	f.AtLeast("node_burst", c.NodeBurst, c.NodeRate)
	f.AtLeast("source_rate", c.SourceRate, 1)
	f.AtLeast("source_burst", c.SourceBurst, c.SourceRate)
	f.AtLeast("device_rate", c.DeviceRate, 1)
	f.AtLeast("device_burst", c.DeviceBurst, c.DeviceRate)
	f.AtLeast("enroll_rate", c.EnrollRate, 1)
	f.AtLeast("enroll_burst", c.EnrollBurst, c.EnrollRate)
	f.AtLeast("max_connections", c.MaxConnections, 1)
	f.AtLeast("max_waiters", c.MaxWaiters, 1)
	f.Lasting("stop_grace", c.StopGrace, time.Second, 10*time.Minute)
	if !f.Has("lease_margin") { // within which leases are counted
		f.Lasting("sweep_interval", c.SweepInterval, 100*time.Millisecond, c.LeaseMargin)
	}
	f.Lasting("sweep_access", c.SweepAccess, 100*time.Millisecond, time.Hour)
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
