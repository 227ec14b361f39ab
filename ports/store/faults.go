package store

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"berth/domain/fault"
)

// RetryAfter is when trying again makes sense while the database is away.
const RetryAfter = time.Second

// RefusedAfter is when trying again makes sense where a person has to put something right first.
const RefusedAfter = 30 * time.Second

// Missing is the miss of a single record.
func Missing(thing string) *fault.Error {
	return fault.New(fault.NotFound, thing+"_not_found", "there is no such %s", spoken(thing))
}

// Taken refuses a second record of one key.
func Taken(thing string) *fault.Error {
	return fault.New(fault.AlreadyExists, thing+"_exists", "there is such a %s already", spoken(thing))
}

func spoken(thing string) string { return strings.ReplaceAll(thing, "_", " ") }

// Replayed refuses a ticket that was spent before (I4).
func Replayed() *fault.Error {
	return fault.New(fault.Unauthenticated, "assertion_replayed", "this proof was used before").
		Curable("sign the request anew")
}

// MalformedTicket refuses a ticket that lacks its scope, its nonce or its end.
func MalformedTicket() *fault.Error {
	return fault.New(fault.Internal, "ticket_malformed", "a ticket has a scope, a nonce and an end, or none of them")
}

// ReadOnly refuses to write in a View.
func ReadOnly() *fault.Error {
	return fault.New(fault.Internal, "store_read_only", "a view does not write")
}

// Over refuses a role after the function it was given to has returned.
func Over() *fault.Error {
	return fault.New(fault.Internal, "store_over", "the transaction of this role is over")
}

// Dangling refuses a commit that would leave a record without the one it belongs to.
func Dangling() *fault.Error {
	return fault.New(fault.Internal, "store_reference_missing", "a record would belong to one that does not exist")
}

// Away is a database that can not answer now.
func Away(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "store_unavailable", "the database does not answer").Because(cause).After(RetryAfter)
}

// Busy is a database that answers, and took too long: another holds a lock, or it has too much to do.
func Busy(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "store_busy", "the database took too long").Because(cause).After(RetryAfter)
}

// NoRights is a database that does not let this program do what it has to.
func NoRights(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "database_rights_missing", "the database's role lacks rights").Because(cause).
		Curable("grant SELECT, INSERT, UPDATE and DELETE on all tables of the schema, and let their owner upgrade it").
		After(RefusedAfter)
}

// Unknown is a commit that may or may not have happened.
func Unknown(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "commit_unknown", "it is not known whether this happened").
		Because(cause).After(RetryAfter).Curable("read what is there, then decide")
}

// Ended is a call whose context ended before anything happened.
func Ended(cause error) *fault.Error {
	return fault.New(fault.Unavailable, "request_ended", "the request ended first").Because(cause)
}

// CheckText refuses what not every store can hold: NUL, and what is not UTF-8. Fault: Invalid invalid_text.
func CheckText(texts ...string) error {
	for _, s := range texts {
		if strings.IndexByte(s, 0) >= 0 || !utf8.ValidString(s) {
			return fault.New(fault.Invalid, "invalid_text", "text is UTF-8 without NUL")
		}
	}
	return nil
}

type inside struct{}

// Enter marks the context of a transaction. Stores call it at the start of each, and of Beat and Caller: one inside
// another could wait for itself for ever. Faults: Internal store_nested; Unavailable request_ended.
func Enter(ctx context.Context) (context.Context, error) {
	if ctx.Value(inside{}) != nil {
		return nil, fault.New(fault.Internal, "store_nested", "a transaction was begun within another")
	}
	if err := ctx.Err(); err != nil {
		return nil, Ended(err)
	}
	return context.WithValue(ctx, inside{}, true), nil
}
