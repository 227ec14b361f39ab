package secretfile

import (
	"strings"

	"berth/domain/fault"
)

const (
	leastToken = 24 // characters; a token of random letters and digits then has more than 120 bits
	mostToken  = 256
)

// BootstrapToken reads the token that works while no admin exists: one line of visible ASCII.
// Faults: those of Read; Invalid bootstrap_token_malformed.
func BootstrapToken(path string) (string, error) {
	data, err := Read(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	hidden := strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
	if len(token) < leastToken || len(token) > mostToken || hidden {
		return "", fault.New(fault.Invalid, "bootstrap_token_malformed",
			"%s: the bootstrap token is one line of %d to %d visible ASCII characters", path, leastToken, mostToken).
			Curable("make one by openssl rand -hex 32")
	}
	return token, nil
}
