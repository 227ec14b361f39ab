package config

import (
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"berth/cmd/internal/secretfile"
	"berth/cmd/internal/settings"
)

// OnPostgres says whether the database is a Postgres server's; it is a file else.
func (c Config) OnPostgres() bool { return isPostgres(scheme(c.DatabaseURL)) }

func scheme(text string) string {
	scheme, _, _ := strings.Cut(text, ":")
	return scheme
}

func isPostgres(scheme string) bool { return scheme == "postgres" || scheme == "postgresql" }

// DatabasePassword reads the password that is kept in a file; nil where none is named. Faults: those of
// secretfile.Password.
func (c Config) DatabasePassword() func() (string, error) {
	if c.DatabasePasswordFile == "" {
		return nil
	}
	return func() (string, error) { return secretfile.Password(c.DatabasePasswordFile) }
}

func (c Config) judgeDatabase(f *settings.Findings) {
	_, rest, _ := strings.Cut(c.DatabaseURL, ":")
	switch {
	case f.Has("database_url"):
	case c.DatabaseURL == "":
		f.Add("database_url", "is missing", "name a database, such as sqlite:/var/lib/berth/control.db")
	case c.OnPostgres():
		c.judgePostgres(f)
	case scheme(c.DatabaseURL) != "sqlite" || rest == "" || strings.HasPrefix(rest, "//"):
		f.Add("database_url", "must read sqlite:PATH or postgres://…", "for example sqlite:/var/lib/berth/control.db")
	case c.DatabasePasswordFile != "":
		f.Add("database_password_file", "is for Postgres, and the database is a file", "leave it out")
	}
}

func (c Config) judgePostgres(f *settings.Findings) {
	f.Between("database_connections", c.DatabaseConnections, 8, 1000)
	f.Lasting("database_timeout", c.DatabaseTimeout, 100*time.Millisecond, 15*time.Second)
	if c.DatabasePasswordFile != "" {
		if _, err := secretfile.Password(c.DatabasePasswordFile); err != nil {
			f.Take(err, settings.Called("database_password_file"))
		}
	}
	u, err := url.Parse(c.DatabaseURL)
	if err != nil || strings.Trim(u.Path, "/") == "" { // the error would repeat the password
		f.Add("database_url", "must read postgres://USER@HOST/NAME", "for example postgres://berth@db.example/berth?sslmode=verify-full")
		return
	}
	if settings.CutShort(c.DatabaseURL) {
		f.Add("database_url", "has an @ behind its host", "write what is special in the password as %XX")
		return
	}
	if name := ambiguous(u); name != "" {
		f.Add("database_url", "says "+name+" in more than one way", "say it once, and the protection of the transport by sslmode")
		return
	}
	c.judgePassword(f, u)
	c.judgeTransport(f, u)
}

// ambiguous names a parameter of the URL of which the driver may take another value than the one that is judged here: it
// takes the last of several, leaves spaces around a name out, and knows ssl=true as another sslmode.
func ambiguous(u *url.URL) string {
	seen := map[string]bool{"ssl": true}
	for name, values := range u.Query() {
		name = strings.TrimSpace(name)
		if seen[name] || len(values) > 1 {
			return name
		}
		seen[name] = true
	}
	return ""
}

// judgePassword wants one password, and in production one that neither ps nor a dump of the environment shows.
func (c Config) judgePassword(f *settings.Findings, u *url.URL) {
	_, inline := u.User.Password()
	switch inline = inline || u.Query().Has("password"); {
	case inline && c.DatabasePasswordFile != "":
		f.Add("database_url", "holds a password, and database_password_file names another", "take it out of the URL")
	case inline && c.Env == Production:
		f.Add("database_url", "holds a password, and this is production", "write it into a file of mode 0600 and name that in database_password_file")
	}
}

// judgeTransport wants a server that proves who it is, unless it is on this machine.
func (c Config) judgeTransport(f *settings.Findings, u *url.URL) {
	mode := u.Query().Get("sslmode")
	if c.Env != Production || mode == "verify-full" || mode == "verify-ca" || local(u) {
		return
	}
	f.Add("database_url", "does not ask the server for its certificate, and this is production",
		"add sslmode=verify-full, and sslrootcert=FILE where its CA is your own")
}

// local says whether every server that the URL names is on this machine.
func local(u *url.URL) bool {
	hosts := strings.Split(u.Host, ",")
	if h := u.Query().Get("host"); h != "" {
		hosts = strings.Split(h, ",")
	}
	return !slices.ContainsFunc(hosts, func(host string) bool {
		if strings.HasPrefix(host, "/") {
			return false
		}
		if _, _, err := net.SplitHostPort(host); err != nil {
			host = net.JoinHostPort(strings.Trim(host, "[]"), "0")
		}
		return host == ":0" || !settings.Address{Network: "tcp", Value: host}.Local()
	})
}
