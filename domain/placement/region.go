package placement

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"berth/domain/fault"
	"berth/domain/ident"
)

// Region is an area covered by one stable public origin.
type Region struct {
	ID        string
	Origin    string // https://host[:port], without path: what devices connect to
	CreatedAt time.Time
}

// NewRegion checks id and origin. Faults: Invalid invalid_id, invalid_origin.
func NewRegion(id, origin string, now time.Time) (Region, error) {
	if err := fault.All(dated(now), ident.Check("id", id), checkOrigin(origin)); err != nil {
		return Region{}, err
	}
	return Region{ID: id, Origin: origin, CreatedAt: ident.Instant(now)}, nil
}

func checkOrigin(origin string) *fault.Error {
	u, err := url.Parse(origin)
	if len(origin) <= 255 && err == nil && "https://"+u.Host == origin && isHost(u.Hostname()) && isPort(u) {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_origin",
		"an origin is https://host or https://host:port, in lower case and with nothing behind it").At("origin")
}

// isHost accepts what every device reads alike: an IP address in its canonical form, or a DNS name in lower case whose
// last label is no number (WHATWG URL reads such a name as an address). Other alphabets come as punycode.
func isHost(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Zone() == "" && ip.String() == host
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if ident.Check("origin", label) != nil {
			return false
		}
	}
	last := labels[len(labels)-1]
	return strings.Trim(last, "0123456789") != "" && !strings.HasPrefix(last, "0x")
}

// isPort accepts no port, and 1 to 65535 without leading zeros.
func isPort(u *url.URL) bool {
	port := u.Port()
	if port == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && port[0] != '0'
}
