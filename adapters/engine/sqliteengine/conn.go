package sqliteengine

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"net/url"
	"strconv"

	"modernc.org/sqlite"
)

// conn is one connection to a tenant's engine.db. It goes without database/sql, whose pool and conversions cost more than
// SQLite does for a small row. It is used by one goroutine at a time.
type conn struct {
	raw        driver.Conn
	scripts    driver.ExecerContext
	statements []*statement
}

// errDriver is the error of a driver that does not know how to do what this one needs.
var errDriver = errors.New("the SQLite driver does not offer what is needed")

// dial opens a file that is there. The page cache is small, since a node has hundreds of Engines open.
func dial(path string, cache int, pragmas ...string) (*conn, error) {
	query := url.Values{"mode": {"rw"}, "_dqs": {"0"}, "_pragma": append([]string{
		"busy_timeout(2500)", "cache_size(-" + strconv.Itoa(cache) + ")", "temp_store(MEMORY)", "trusted_schema(0)",
	}, pragmas...)}
	file := url.URL{Scheme: "file", Path: path, OmitHost: true, RawQuery: query.Encode()}
	raw, err := new(sqlite.Driver).Open(file.String())
	if err != nil {
		return nil, err
	}
	scripts, ok := raw.(driver.ExecerContext)
	if !ok {
		return nil, errors.Join(errDriver, raw.Close())
	}
	return &conn{raw: raw, scripts: scripts}, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.statements {
		errs = append(errs, s.raw.Close())
	}
	return errors.Join(append(errs, c.raw.Close())...)
}

// run executes a script once.
func (c *conn) run(script string) error {
	_, err := c.scripts.ExecContext(context.Background(), script, nil)
	return err
}

// statement is one that is prepared once.
type statement struct {
	raw   driver.Stmt
	execs driver.StmtExecContext
	asks  driver.StmtQueryContext
	args  []driver.NamedValue
	row   []driver.Value
}

func (c *conn) prepare(text string) (*statement, error) {
	raw, err := c.raw.Prepare(text)
	if err != nil {
		return nil, err
	}
	execs, executes := raw.(driver.StmtExecContext)
	asks, queries := raw.(driver.StmtQueryContext)
	if !executes || !queries {
		return nil, errors.Join(errDriver, raw.Close())
	}
	s := &statement{raw: raw, execs: execs, asks: asks}
	c.statements = append(c.statements, s)
	return s, nil
}

// prepared prepares several, each into its place.
func (c *conn) prepared(texts map[string]**statement) error {
	for text, into := range texts {
		s, err := c.prepare(text)
		if err != nil {
			return err
		}
		*into = s
	}
	return nil
}

func (s *statement) bind(args []driver.Value) []driver.NamedValue {
	s.args = s.args[:0]
	for i, arg := range args {
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: arg})
	}
	return s.args
}

// exec runs it and says how many rows it changed. Arguments are int64, string, []byte or bool.
func (s *statement) exec(args ...driver.Value) (changed int64, err error) {
	r, err := s.execs.ExecContext(context.Background(), s.bind(args))
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// each calls fn with every row until it wants no more. The row is fn's until it returns.
func (s *statement) each(fn func(row []driver.Value) (more bool), args ...driver.Value) (err error) {
	rows, err := s.asks.QueryContext(context.Background(), s.bind(args))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	if n := len(rows.Columns()); len(s.row) != n {
		s.row = make([]driver.Value, n)
	}
	for {
		switch err := rows.Next(s.row); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !fn(s.row):
			return nil
		}
	}
}

// one returns the first row, which is valid until the next call; nil where there is none.
func (s *statement) one(args ...driver.Value) (row []driver.Value, err error) {
	err = s.each(func(r []driver.Value) bool { row = r; return false }, args...)
	return row, err
}

// number is a column that the schema declares as INTEGER of a STRICT table; text and blob are as well what they say.
func number(v driver.Value) int64 { n, _ := v.(int64); return n }
func text(v driver.Value) string  { s, _ := v.(string); return s }
func blob(v driver.Value) []byte  { b, _ := v.([]byte); return b }
