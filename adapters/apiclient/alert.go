package apiclient

import (
	"errors"
	"net"
	"reflect"
)

// refusesCertificate says whether the server ended the connection because of the certificate that it was shown, or wanted
// (RFC 8446 §6.2). By then the client has verified the server, so that nobody else can have said so.
func refusesCertificate(err error) bool {
	const (
		badCertificate, certificateUnknown = 42, 46 // with unsupported, revoked and expired in between
		unknownCA, accessDenied            = 48, 49
		certificateRequired                = 116
	)
	alert := alertOf(err)
	return alert >= badCertificate && alert <= certificateUnknown || alert == unknownCA || alert == accessDenied ||
		alert == certificateRequired
}

// alertOf is the number of the TLS alert that the other side sent; 0 for none, as close_notify is no error. Package tls
// has a type of its own for it, which it does not export.
func alertOf(err error) uint64 {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Op != "remote error" {
		return 0
	}
	if v := reflect.ValueOf(op.Err); v.Kind() == reflect.Uint8 && v.Type().PkgPath() == "crypto/tls" {
		return v.Uint()
	}
	return 0
}
