package settings

import (
	"net"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"berth/domain/fault"
)

// Address is where a listener listens: network tcp and host:port, or network unix and the path of a socket.
type Address struct{ Network, Value string }

// Off is the address of a listener that is not to be.
const Off = "off"

// longestSocket is the longest path that every system takes for a socket, less what a replacement's name adds.
const longestSocket = 90

// ParseAddress reads host:port or unix:PATH. Fault: Invalid invalid_address.
func ParseAddress(text string) (Address, error) {
	if path, ok := strings.CutPrefix(text, "unix:"); ok {
		if path == "" || strings.HasPrefix(path, "//") || strings.HasPrefix(path, "@") || filepath.Clean(path) != path {
			return Address{}, badAddress("a Unix socket reads unix:/run/berth/internal.sock")
		}
		if len(path) > longestSocket {
			return Address{}, badAddress("the path of a socket has at most " + strconv.Itoa(longestSocket) + " bytes")
		}
		return Address{"unix", path}, nil
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || strings.ContainsAny(host, " /\\") {
		return Address{}, badAddress("an address reads host:port or unix:PATH")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return Address{}, badAddress("a port is a number up to 65535")
	}
	return Address{"tcp", text}, nil
}

func badAddress(detail string) error {
	return fault.New(fault.Invalid, "invalid_address", "%s", detail)
}

// Local says whether only this machine can connect.
func (a Address) Local() bool {
	if a.Network == "unix" {
		return true
	}
	host, _, _ := net.SplitHostPort(a.Value)
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}

// PortOf is ":port" of a TCP address, and empty for anything else.
func PortOf(text string) string {
	a, err := ParseAddress(text)
	if err != nil || a.Network != "tcp" {
		return ""
	}
	_, port, _ := net.SplitHostPort(a.Value)
	return ":" + port
}
