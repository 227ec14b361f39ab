package config_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"berth/cmd/internal/config"
)

// A Postgres server is taken where nothing about it is doubtful, and in production only where it proves who it is and
// its password is in a file.
func TestPostgres(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ env, url, says string }{
		{"development", "postgres://berth@db.example/berth", ""},
		{"development", "postgresql://berth:pw@db.example:5432,other.example:5433/berth?sslmode=disable", ""},
		{"development", "postgres://berth@db.example", "USER@HOST/NAME"},
		{"development", "postgres:berth", "USER@HOST/NAME"},
		{"development", "postgres://berth@db.example:port/berth", "USER@HOST/NAME"},
		{"development", "postgres://berth:12/34@db.example/berth", "%XX"},
		{"production", "postgres://berth:12?34@db.example/berth&sslmode=verify-full", "USER@HOST/NAME"},
		{"production", "postgres://berth:12/34@db.example/berth?sslmode=verify-full", "%XX"},
		{"production", "postgres://berth@db.example/berth?sslmode=verify-full", ""},
		{"production", "postgres://berth@db.example/berth?sslmode=verify-ca", ""},
		{"production", "postgres://berth@db.example/berth?sslmode=require", "sslmode=verify-full"},
		{"production", "postgres://berth@db.example/berth", "sslmode=verify-full"},
		{"production", "postgres://berth@127.0.0.1,db.example/berth", "sslmode=verify-full"},
		{"production", "postgres://berth@/berth?host=/run/postgresql,db.example", "sslmode=verify-full"},
		{"production", "postgres://berth@/berth?host=/run/postgresql", ""},
		{"production", "postgres://berth@localhost:5432,127.0.0.1:5433/berth", ""},
		{"production", "postgres://berth:pw@db.example/berth?sslmode=verify-full", "database_password_file"},
		{"production", "postgres://berth@db.example/berth?sslmode=verify-full&password=pw", "database_password_file"},
		{"production", "postgres://berth@db.example/berth?sslmode=verify-full&sslmode=disable", "more than one way"},
		{"production", "postgres://berth@db.example/berth?sslmode=verify-full& sslmode=disable", "more than one way"},
		{"production", "postgres://berth@db.example/berth?sslmode=verify-full&ssl%6Dode=disable", "more than one way"},
		{"production", "postgres://berth@db.example/berth?sslmode=verify-full&ssl=true", "more than one way"},
		{"production", "postgres://berth@/berth?host=localhost&host=db.example", "more than one way"},
	} {
		f := whole(t)
		f.set("env", c.env)
		f.set("database_url", c.url)
		_, err := f.load(t)
		var all config.Problems
		_ = errors.As(err, &all)
		p := about(all, "database_url")
		if (p != nil) != (c.says != "") || p != nil && !strings.Contains(p.String(), c.says) {
			t.Errorf("%s in %s: %v, which does not say %q", c.url, c.env, p, c.says)
		}
	}
}

// The password is read from its file each time it is asked for, so that it can be changed while the process runs; a file
// that others may read, one that holds no password, and a second password are refused.
func TestPasswordFile(t *testing.T) {
	t.Parallel()
	f := whole(t)
	f.set("database_url", "postgres://berth@db.example/berth")
	path := f.write(t, "password", "first\n")
	f.set("database_password_file", path)
	read := f.mustLoad(t).DatabasePassword()
	for _, want := range []string{"first", "second: with spaces "} {
		f.write(t, "password", want+"\n")
		if got, err := read(); got != want || err != nil {
			t.Fatalf("read %q (%v), want %q", got, err, want)
		}
	}
	for _, bad := range []string{"", "\n", "two\nlines", strings.Repeat("x", 2000)} {
		f.write(t, "password", bad)
		if about(f.problems(t), "database_password_file") == nil {
			t.Errorf("%.20q is taken for a password", bad)
		}
	}
	f.write(t, "password", "pw")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if p := about(f.problems(t), "database_password_file"); p == nil || !strings.Contains(p.String(), "chmod 600") {
		t.Errorf("an open file: %v", p)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f.set("database_url", "postgres://berth:pw@db.example/berth")
	if about(f.problems(t), "database_url") == nil {
		t.Error("two passwords are taken")
	}
	f.set("database_url", "sqlite:"+f.path("x.db"))
	if about(f.problems(t), "database_password_file") == nil {
		t.Error("a password for a file is taken")
	}
}

// A statement may take a while and not as long as a lease, and a replica has connections for everything it does at once.
func TestPostgresBounds(t *testing.T) {
	t.Parallel()
	for setting, values := range map[string][]string{"database_timeout": {"50ms", "16s"}, "database_connections": {"7", "1001"}} {
		for _, value := range values {
			f := whole(t)
			f.set("database_url", "postgres://berth@db.example/berth")
			f.set(setting, value)
			if about(f.problems(t), setting) == nil {
				t.Errorf("%s=%s is taken", setting, value)
			}
		}
	}
}
