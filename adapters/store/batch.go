package store

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
)

// batch is a statement over many rows or keys in the few sizes in which it is prepared once and kept, where bun would
// write, and the database read, a text of its own each time. {} in it stands for the list.
type batch struct {
	sizes    []int // descending, down to 1
	texts    []string
	numbered []string // the same with $1, $2 and so on
}

// newBatch repeats item, with a comma between.
func newBatch(text, item string) batch {
	b := batch{sizes: []int{256, 64, 16, 4, 1}}
	for _, n := range b.sizes {
		list := strings.TrimSuffix(strings.Repeat(item+",", n), ",")
		b.texts = append(b.texts, strings.Replace(text, "{}", list, 1))
		b.numbered = append(b.numbered, numbered(b.texts[len(b.texts)-1]))
	}
	return b
}

// numbered writes a statement's arguments as $1, $2 and so on. There is no other question mark in it.
func numbered(text string) string {
	var out strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(text, "?")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		out.WriteString("$" + strconv.Itoa(n))
		text = after
	}
}

// covering is the smallest statement for n keys, or the largest there is.
func (b batch) covering(t *Tx, n int) (text string, size int) {
	at := 0
	for at+1 < len(b.sizes) && b.sizes[at+1] >= n {
		at++
	}
	return b.text(t, at), b.sizes[at]
}

// within is the largest statement that takes no more than n rows.
func (b batch) within(t *Tx, n int) (text string, size int) {
	at := slices.IndexFunc(b.sizes, func(size int) bool { return size <= n })
	return b.text(t, at), b.sizes[at]
}

func (b batch) text(t *Tx, at int) string {
	if t.session.Numbered {
		return b.numbered[at]
	}
	return b.texts[at]
}

// readKeys runs b for the keys and hands each row to scan. A key may be asked for more than once in one statement.
func readKeys(ctx context.Context, t *Tx, b batch, keys []string, scan func(*sql.Rows) error) error {
	if err := t.reading(); err != nil {
		return err
	}
	for len(keys) > 0 {
		text, size := b.covering(t, len(keys))
		args := make([]any, size)
		for i := range args {
			args[i] = keys[min(i, len(keys)-1)]
		}
		keys = keys[min(size, len(keys)):]
		if err := readRows(ctx, t, text, args, scan); err != nil {
			return t.fault(err)
		}
	}
	return nil
}

// blob reads one value by its key with a statement of b, which takes a single row.
func blob(ctx context.Context, t *Tx, b batch, into *[]byte, key ...any) (found bool, err error) {
	if err := t.reading(); err != nil {
		return false, err
	}
	text, _ := b.within(t, 1)
	err = readRows(ctx, t, text, key, func(rows *sql.Rows) error {
		found = true
		return rows.Scan(into)
	})
	return found, t.fault(err)
}

func readRows(ctx context.Context, t *Tx, text string, args []any, scan func(*sql.Rows) error) error {
	rows, err := t.conn.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// writeRows runs b for the rows, whose values args appends, and says how many it changed.
func writeRows[R any](ctx context.Context, t *Tx, b batch, rows []R, args func([]any, R) []any) (changed int, err error) {
	if err := t.writing(); err != nil {
		return 0, err
	}
	var buffer []any
	for len(rows) > 0 {
		text, size := b.within(t, len(rows))
		buffer = buffer[:0]
		for _, row := range rows[:size] {
			buffer = args(buffer, row)
		}
		rows = rows[size:]
		n, err := t.changed(t.conn.ExecContext(ctx, text, buffer...))
		if err != nil {
			return changed, err
		}
		changed += n
	}
	return changed, nil
}
