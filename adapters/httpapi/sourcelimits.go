package httpapi

import (
	"net/netip"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"berth/domain/fault"
)

// SourceLimits bound how many requests a second one address may make; of IPv6 the /64, which is what one party is given.
// It remembers a bounded number of addresses; one that was forgotten starts anew.
type SourceLimits struct {
	perSecond rate.Limit
	burst     int
	sources   *lru.Cache[string, *rate.Limiter]
}

const rememberedSources = 65536

// NewSourceLimits allows each address perSecond requests a second, and burst at once.
func NewSourceLimits(perSecond float64, burst int) *SourceLimits {
	sources, err := lru.New[string, *rate.Limiter](rememberedSources)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return &SourceLimits{rate.Limit(perSecond), burst, sources}
}

// Take counts one request. Fault: Exhausted rate_limited.
func (l *SourceLimits) Take(source string) error {
	source = party(source)
	limiter, ok := l.sources.Get(source)
	if !ok {
		limiter = rate.NewLimiter(l.perSecond, l.burst)
		if prior, there, _ := l.sources.PeekOrAdd(source, limiter); there {
			limiter = prior
		}
	}
	if limiter.Allow() {
		return nil
	}
	return fault.New(fault.Exhausted, "rate_limited", "this address makes too many requests")
}

// party is the network that a source stands for. What is no IP address stands for itself.
func party(source string) string {
	const given = 64 // bits
	ip, err := netip.ParseAddr(source)
	if err != nil || ip.Is4() || ip.Is4In6() {
		return source
	}
	network, _ := ip.WithZone("").Prefix(given) // an IPv6 address has as many
	return network.String()
}
