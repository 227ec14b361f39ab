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
	name, port, hasPort := host, "", false
	if end := strings.IndexByte(host, ']'); host[0] == '[' {
		if end < 0 {
			return false
		}
		name = host[:end+1]
		if rest := host[end+1:]; rest != "" {
			if rest[0] != ':' {
				return false
			}
			port, hasPort = rest[1:], true
		}
	} else {
		name, port, hasPort = strings.Cut(host, ":")
	}
	return (!hasPort || validPort(port)) && (validName(name) || validIPv6(name))
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

func validIPv6(name string) bool {
	inner, ok := strings.CutPrefix(name, "[")
	if !ok {
		return false
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
	return err == nil && a.Is6() && a.Zone() == ""
}
