package load

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"berth/e2e/harness"
)

// A cluster agent's poll that has nothing new, its token checked, 256 agents at once (G2).
func BenchmarkAgentPollUnchanged(b *testing.B) {
	Each(b, func(b *testing.B, r *Rig) {
		var callers []Caller
		for _, a := range r.Agents(b, 256) {
			callers = append(callers, AgentPolls(r.API(0), a))
		}
		r.bench(b, callers...)
	})
}

// Agents enrols agents, each of a deployment of its own.
func (r *Rig) Agents(b *testing.B, count int) []*harness.Agent {
	b.Helper()
	customer := harness.StandOn(b, r.Server).NewCustomer("many")
	out := make([]*harness.Agent, count)
	for i := range out {
		customer.Deploys()
		out[i] = customer.Enrols()
	}
	return out
}

// resigned is how long a token is used: the server checks it each time, and signing is the client's cost.
const resigned = 10 * time.Second

// AgentPolls are an agent's polls from the state that it has at the first of them.
func AgentPolls(c *Conn, a *harness.Agent) Caller {
	const path = "/agent/v1/desired-state"
	var etag string
	var request []byte
	var signed time.Time
	sign := func() error {
		r, err := http.NewRequest(http.MethodGet, "https://api.berth.test"+path, nil) //nolint:noctx // it is only signed
		if err != nil {
			return err
		}
		if err := a.Proof().Prove(r, nil); err != nil {
			return err
		}
		header := []string{"Authorization", r.Header.Get("Authorization")}
		if etag != "" {
			header = append(header, "If-None-Match", etag)
		}
		request, signed = Request(http.MethodGet, path, "api.berth.test", nil, header...), time.Now()
		return nil
	}
	first := func() error {
		if err := sign(); err != nil {
			return err
		}
		told, err := c.Must(request, http.StatusOK)
		if err != nil {
			return err
		}
		if etag = told.ETag; etag == "" {
			return fmt.Errorf("an answer has no ETag: %s", told.Body)
		}
		return sign()
	}
	return func() (time.Duration, error) {
		if etag == "" {
			if err := first(); err != nil {
				return 0, err
			}
		}
		if time.Since(signed) > resigned {
			if err := sign(); err != nil {
				return 0, err
			}
		}
		told, err := c.Must(request, http.StatusNotModified)
		return told.Took, err
	}
}
