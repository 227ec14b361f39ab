package pgstore

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"os"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"berth/adapters/store"
	"berth/domain/fault"
	port "berth/ports/store"
)

// SQLSTATEs that mean something of their own here.
const (
	serializationFailure = "40001"
	deadlock             = "40P01"
	completionUnknown    = "40003"
	foreignKey           = "23503"
	unique               = "23505"
	queryCanceled        = "57014" // by statement_timeout: nobody else cancels
	lockNotAvailable     = "55P03"
	insufficientRights   = "42501"
	invalidPassword      = "28P01"
	invalidLogin         = "28000"
	unknownDatabase      = "3D000"
	readOnly             = "25006"
	idleTooLong          = "25P03"
	dataCorrupted        = "XX001"
	indexCorrupted       = "XX002"
)

func codeOf(err error) (code string, found bool) {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return "", false
	}
	return e.Code, true
}

// contended says whether the database gave a transaction up for the sake of another.
func contended(err error) bool {
	code, _ := codeOf(err)
	return code == serializationFailure || code == deadlock
}

// classify is the fault behind an error of the driver, by its SQLSTATE.
func classify(err error) error {
	if err == nil {
		return nil
	}
	if _, known := fault.As(err); known {
		return err
	}
	if code, found := codeOf(err); found {
		return faultOf(code, err)
	}
	if lost(err) {
		return port.Away(err)
	}
	return store.Broken(err)
}

// lost says whether err is that of a connection.
func lost(err error) bool {
	var network net.Error
	var connect *pgconn.ConnectError
	for _, e := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, driver.ErrBadConn, sql.ErrConnDone,
		context.DeadlineExceeded, pgconn.ErrConnClosed,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return errors.As(err, &network) || errors.As(err, &connect) || pgconn.SafeToRetry(err)
}

// timedOut says whether the client gave up waiting.
func timedOut(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}

func faultOf(code string, err error) error {
	switch code {
	case foreignKey:
		return port.Dangling().Because(err)
	case unique:
		return store.Twice(err)
	case queryCanceled, lockNotAvailable:
		return port.Busy(err)
	case insufficientRights:
		return port.NoRights(err)
	case invalidPassword, invalidLogin:
		return fault.New(fault.Unavailable, "database_login_refused", "the database refuses the login").
			Curable("give the address of the database the right user and password, and let the server admit them").
			After(port.RefusedAfter).Because(err)
	case unknownDatabase:
		return fault.New(fault.Unavailable, "database_missing", "there is no such database").
			Curable("create the database, or name one that is there").After(port.RefusedAfter).Because(err)
	case dataCorrupted, indexCorrupted:
		return store.Unreadable("the database is damaged", err).Curable("restore a backup of it").After(port.RefusedAfter)
	case serializationFailure, deadlock, readOnly, idleTooLong:
		return port.Away(err)
	}
	// Connection, resources, limits, state, an operator, the system.
	for _, class := range []string{"08", "53", "55", "57", "58"} {
		if strings.HasPrefix(code, class) {
			return port.Away(err)
		}
	}
	return store.Broken(err)
}

// unsettled is the fault behind a commit that failed. A server that answers with an error of these classes has rolled
// back, unless it says that it does not know; after any other, or without an answer, the commit may have happened.
func unsettled(err error) error {
	if pgconn.SafeToRetry(err) {
		return port.Away(err) // nothing was sent
	}
	var e *pgconn.PgError
	if errors.As(err, &e) && e.Code == idleTooLong {
		return port.Away(err) // which it is only while no command came
	}
	if e != nil && e.SeverityUnlocalized == "ERROR" && len(e.Code) == 5 && e.Code != completionUnknown {
		switch e.Code[:2] {
		case "22", "23", "25", "40", "42", "53", "54", "55", "P0":
			return faultOf(e.Code, err)
		}
	}
	return port.Unknown(err)
}

// unreachable is the fault behind a connection that can not be made. Its cause names the host, what is wrong with its
// certificate, and the SQLSTATE at most: the server repeats in its words what it was given.
func (s *Store) unreachable(err error) error {
	if f, known := fault.As(err); known {
		return f
	}
	code, found := codeOf(err)
	var network *net.OpError
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case found:
		return faultOf(code, errors.New("SQLSTATE "+code))
	case errors.As(err, &certificate):
		return port.Away(certificate)
	case errors.As(err, &dns):
		return port.Away(dns)
	case errors.As(err, &network):
		return port.Away(network)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return port.Away(context.DeadlineExceeded)
	}
	return port.Away(errUnreachable)
}

var errUnreachable = errors.New("no connection to the database")
