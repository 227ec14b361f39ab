package httpapi

import (
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"berth/domain/fault"
)

// SourceLimits bound how many requests a second one address may make. It remembers a bounded number of addresses; one
// that was forgotten starts anew.
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
