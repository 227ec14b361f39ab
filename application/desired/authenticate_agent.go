package desired

import (
	"context"
	"crypto/ed25519"

	"berth/domain/audit"
	"berth/domain/fault"
	"berth/ports/store"
	"berth/ports/tokens"
)

// decoyKey stands in for the key of an agent that does not exist, so that checking its token takes as long. It is the
// base point of the curve, for which anybody can sign: what it verifies is refused all the same.
var decoyKey = ed25519.PublicKey("\x58" + //nolint:gochecknoglobals // immutable
	"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66" +
	"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66")

// AgentCaller is an agent that proved its key with a request, and what its deployment was at then.
type AgentCaller struct {
	Agent   string
	Install string

	polled store.Polled
}

func (c AgentCaller) actor() audit.Actor { return audit.Actor{Kind: audit.ActorAgent, ID: c.Agent} }

// AuthenticateAgent checks the token of an agent's request (G1), by one shared read (G2). A process that was not the one
// heard last is noted. Faults: Unauthenticated, as of tokens.AgentVerifier, where agent_token_signature also stands for
// an agent that does not exist.
func (d *Desired) AuthenticateAgent(ctx context.Context, token string, request tokens.AgentRequest) (AgentCaller, error) {
	agent, err := d.Crypto.Agents.Claimed(token)
	if err != nil {
		return AgentCaller{}, err
	}
	now := d.Clock.Now()
	polled, err := d.Store.Poll(ctx, agent)
	if fault.KindOf(err) == fault.NotFound {
		_, _ = d.Crypto.Agents.VerifyAgent(token, decoyKey, request, "", now) // as long as for one that is there
		return AgentCaller{}, strangeAgent()
	}
	if err != nil {
		return AgentCaller{}, err
	}
	said, err := d.Crypto.Agents.VerifyAgent(token, polled.PublicKey, request, polled.InstallID, now)
	if err != nil {
		return AgentCaller{}, err
	}
	caller := AgentCaller{Agent: agent, Install: polled.InstallID, polled: polled}
	if said.Instance != polled.Instance {
		err = d.hear(ctx, caller, said.Instance)
	}
	return caller, err
}

// strangeAgent is the one refusal of a wrong key and of an agent that is not known, or no more.
func strangeAgent() error {
	return fault.New(fault.Unauthenticated, "agent_token_signature", "the token is not signed by the key of an enrolled agent").
		Curable("enrol with the token of a new package")
}

// hear notes that another process speaks for the agent.
func (d *Desired) hear(ctx context.Context, caller AgentCaller, instance string) error {
	return d.commit(ctx, caller.actor(), func(ctx context.Context, w *work) error {
		agent, err := w.Agents.Get(ctx, caller.Agent)
		if fault.KindOf(err) == fault.NotFound {
			return strangeAgent()
		}
		if err != nil {
			return err
		}
		before := agent.Record()
		changed, interleaved := agent.Hear(instance, w.now)
		if !changed {
			return nil
		}
		if err := w.Agents.Save(ctx, agent); err != nil {
			return err
		}
		action := "agent.process_changed"
		if interleaved {
			action = "agent.interleaved" // two processes use the key by turns
		}
		return w.note(ctx, action, caller.Install, map[string]string{
			"agent": caller.Agent, "before": before.Instance, "after": instance, "times": number(agent.Record().Interleaved),
		})
	})
}
