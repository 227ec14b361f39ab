package connect

import (
	"net/http"
	"strings"

	"berth/adapters/contract"
	"berth/domain/fault"
)

// tokenOf finds the one token that a request carries: in Authorization, or, of an upgrade, as a subprotocol. Faults:
// Unauthenticated token_missing, token_ambiguous, token_malformed.
func tokenOf(r *http.Request, offers []string) (string, error) {
	var found []string
	for _, value := range r.Header["Authorization"] {
		scheme, token, ok := strings.Cut(value, " ")
		if !ok || !strings.EqualFold(scheme, "Bearer") {
			return "", fault.New(fault.Unauthenticated, "token_malformed", "Authorization is not a bearer token").
				Curable("send Authorization: Bearer and the token, with one space between")
		}
		found = append(found, token)
	}
	for _, offer := range offers {
		if token, ok := strings.CutPrefix(offer, contract.ConnectTokenPrefix); ok {
			found = append(found, token)
		}
	}
	switch {
	case len(found) == 0:
		return "", fault.New(fault.Unauthenticated, "token_missing", "the request carries no token").
			Curable("send Authorization: Bearer and a device token, or offer %s and the token as a subprotocol", contract.ConnectTokenPrefix)
	case len(found) > 1:
		return "", fault.New(fault.Unauthenticated, "token_ambiguous", "the request carries more than one token")
	case found[0] == "" || strings.ContainsFunc(found[0], notOfToken):
		return "", fault.New(fault.Unauthenticated, "token_malformed", "the token is not a compact JWS")
	}
	return found[0], nil
}

// notOfToken is true of what a compact JWS (RFC 7515) never holds.
func notOfToken(c rune) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' && c != '.'
}

// listed are the elements of a header that is a list, as they are written.
func listed(h http.Header, name string) []string {
	var out []string
	for _, value := range h[name] {
		for element := range strings.SplitSeq(value, ",") {
			if element = strings.Trim(element, " \t"); element != "" {
				out = append(out, element)
			}
		}
	}
	return out
}
