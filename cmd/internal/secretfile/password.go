package secretfile

import (
	"strings"

	"berth/domain/fault"
)

const mostPassword = 1024

// Password reads a password: one line, of which an end of line is no part. Faults: those of Read; Invalid
// password_malformed.
func Password(path string) (string, error) {
	data, err := Read(path)
	if err != nil {
		return "", err
	}
	password := strings.TrimRight(string(data), "\r\n")
	if password == "" || len(password) > mostPassword || strings.ContainsAny(password, "\x00\r\n") {
		return "", fault.New(fault.Invalid, "password_malformed", "%s: a password is one line of at most %d bytes", path, mostPassword).
			Curable("write it anew, alone")
	}
	return password, nil
}
