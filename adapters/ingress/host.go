package ingress

import (
	"net/netip"
	"strconv"
	"strings"
)

const maxHost = 253 + len(":65535")

// validHost accepts a DNS name or an IP address, with or without a port (RFC 9110 §7.2), and none of what else RFC 3986
// lets stand for a host: user information, escapes, delimiters, an empty name.
func validHost(host string) bool {
	if host == "" || len(host) > maxHost {
		return false
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		address, rest, closed := strings.Cut(inner, "]")
		port, hasPort := strings.CutPrefix(rest, ":")
		return closed && validIPv6(address) && (rest == "" || hasPort && validPort(port))
	}
	name, port, hasPort := strings.Cut(host, ":")
	return validName(name) && (!hasPort || validPort(port))
}

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && port[0] != '0'
}

func validName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
		if !letter && c != '.' {
			return false
		}
	}
	return name != "" && name[0] != '.' && !strings.Contains(name, "..")
}

func validIPv6(text string) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Is6() && a.Zone() == ""
}
