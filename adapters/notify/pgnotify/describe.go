package pgnotify

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

var (
	errNoEcho     = errors.New("the server takes notifications but brings none back; a pooler in transaction mode does that")
	errNoPassword = errors.New("the password could not be read")
)

// describe says what is wrong without a word of the DSN: in one that was mistyped the password may stand where the
// driver reads a host or a database, and its errors would show it.
func describe(err error) string {
	var refused *pgconn.PgError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var errno syscall.Errno
	switch {
	case errors.As(err, &refused):
		return describeState(refused.Code)
	case errors.Is(err, errNoEcho):
		return errNoEcho.Error()
	case errors.Is(err, errNoPassword):
		return errNoPassword.Error()
	case errors.Is(err, pgconn.ErrStandbyConnection):
		return "the server is a standby"
	case errors.As(err, &certificate):
		return "the server's certificate is not trusted"
	case errors.As(err, &name):
		return "the server's host name was not found"
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server or something on the way closed the connection"
	default:
		return "the connection failed"
	}
}

func describeState(code string) string {
	switch code {
	case "28P01", "28000":
		return "the server refused the user or the password, SQLSTATE " + code
	case "3D000":
		return "the server has no such database, SQLSTATE " + code
	case "53300":
		return "the server has no connection left, SQLSTATE " + code
	case "57P01", "57P02", "57P03":
		return "the server stops or starts, SQLSTATE " + code
	default:
		return "the server refused it with SQLSTATE " + code
	}
}
