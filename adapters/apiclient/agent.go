package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"berth/adapters/contract"
)

// Agent is the API of clusters' agents, /agent/v1. Its client's proof is an AgentProof; Enroll takes none.
type Agent struct{ c *Client }

// NewAgent returns the agents' API of a server.
func NewAgent(c *Client) Agent { return Agent{c} }

const agent = "/agent/v1"

// Enroll makes the caller the agent of a deployment (G1). Repeating it with the same token and the same keys is safe.
func (a Agent) Enroll(ctx context.Context, in contract.AgentEnrol) (contract.AgentEnrolled, error) {
	return post[contract.AgentEnrolled](ctx, a.c, agent+"/enroll", in)
}

// DesiredState returns what the cluster is to run, as a compact JWS, with the ETag that says so at the next poll; known is
// the ETag of what the agent has, empty for nothing. Where nothing is new once the wait, in whole seconds, is over, the
// JWS is empty. Nothing is checked here: the agent believes it by its own pinned keys.
func (a Agent) DesiredState(ctx context.Context, known string, wait time.Duration) (jws, etag string, err error) {
	var out raw
	k := call{method: http.MethodGet, path: agent + "/desired-state", known: known, raw: &out, wait: wait}
	if wait >= time.Second {
		k.query = url.Values{"wait": {waiting(wait)}}
	}
	if unchanged, err := a.c.do(ctx, k); err != nil || unchanged {
		return "", known, err
	}
	return string(out.body), out.etag, nil
}

// Object returns an object that a revision of the deployment names; the caller compares its digest.
func (a Agent) Object(ctx context.Context, sha256 string) ([]byte, error) {
	var out raw
	_, err := a.c.do(ctx, call{method: http.MethodGet, path: agent + "/objects" + seg(sha256), raw: &out})
	return out.body, err
}

// Report tells what runs. A sequence that was taken already changes nothing.
func (a Agent) Report(ctx context.Context, in contract.AgentReport) error {
	_, err := a.c.do(ctx, call{method: http.MethodPost, path: agent + "/reports", in: in})
	return err
}

// Prove shows a desired state that the agent holds, as it was signed (D4).
func (a Agent) Prove(ctx context.Context, in contract.AgentProof) error {
	_, err := a.c.do(ctx, call{method: http.MethodPost, path: agent + "/proofs", in: in})
	return err
}
