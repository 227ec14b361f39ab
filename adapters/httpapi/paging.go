package httpapi

import (
	"encoding/base64"

	"berth/domain/fault"
	"berth/ports/store"
)

// Paging are the parameters of every list.
type Paging struct {
	Cursor string `query:"cursor" maxLength:"512" doc:"next of the page before; absent for the first page"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100" doc:"No page is longer than 500"`
}

// Page is what the store is asked for. Fault: Invalid invalid_cursor.
func (p Paging) Page() (store.Page, error) {
	after, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil || store.CheckText(string(after)) != nil {
		return store.Page{}, fault.New(fault.Invalid, "invalid_cursor", "a cursor is the next of a page before").At("query.cursor")
	}
	return store.Page{After: string(after), Limit: max(p.Limit, 1)}, nil
}

// Cursor is what asks for the page behind the key; empty where nothing follows.
func Cursor(lastKey string) string { return base64.RawURLEncoding.EncodeToString([]byte(lastKey)) }
