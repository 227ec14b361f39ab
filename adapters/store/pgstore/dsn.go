package pgstore

import (
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"berth/domain/fault"
)

const connectTimeout = 5 * time.Second

// configure reads a DSN. Nothing of it is in the fault: what can not be read may hold a part of the password anywhere.
func configure(dsn string, o Options) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(dsn)
	if err != nil || misplaced(dsn) {
		return nil, fault.New(fault.Invalid, "database_url_malformed", "the address of the database can not be read").
			Curable("write it as postgres://user:password@host:port/database, what is special in the password as %%XX; " +
				"or as host=... user=... password='...' dbname=...")
	}
	if o.ConnectTimeout > 0 {
		c.ConnectTimeout = o.ConnectTimeout
	} else if c.ConnectTimeout <= 0 {
		c.ConnectTimeout = connectTimeout
	}
	if _, named := c.RuntimeParams["application_name"]; !named {
		c.RuntimeParams["application_name"] = "berth"
	}
	c.OnNotice = func(conn *pgconn.PgConn, n *pgconn.Notice) { noticed(conn, n.SeverityUnlocalized) }
	return c, nil
}

// misplaced says whether an address in the form of a URL has its @ too late: a character of the password that is not
// written as %XX ended the host before it.
func misplaced(dsn string) bool {
	scheme, rest, isURL := strings.Cut(dsn, "://")
	if !isURL || scheme != "postgres" && scheme != "postgresql" {
		return false
	}
	authority := strings.IndexAny(rest, "/?#")
	return authority >= 0 && strings.Contains(rest[authority:], "@")
}
