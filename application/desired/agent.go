package desired

import (
	"context"

	"berth/domain/audit"
	"berth/domain/delivery"
	"berth/domain/fault"
	"berth/ports/store"
)

// AgentView is the agent of a deployment, and what it is not told for lack of its own ciphertext.
type AgentView struct {
	Agent   delivery.AgentRecord
	Head    delivery.DesiredRecord
	Unread  []delivery.SecretValue // sealed to the key of an agent that is no more: to be set again. Without their text
	Observe []delivery.Observation
}

// Agent returns the agent of a deployment. Faults: NotFound deployment_not_found, agent_not_found.
func (d *Desired) Agent(ctx context.Context, install string) (AgentView, error) {
	s, err := d.situation(ctx, install)
	if err != nil {
		return AgentView{}, err
	}
	if s.Agent == nil {
		return AgentView{}, store.Missing("agent").Curable("enrol one with the token of a package")
	}
	out := AgentView{Agent: s.Agent.Record(), Head: s.Head.Record(), Observe: s.Observations}
	for _, v := range s.Secrets {
		if !s.opens(v) {
			v.Text = nil
			out.Unread = append(out.Unread, v)
		}
	}
	return out, nil
}

// ResetEnrolmentRequest asks to forget an agent.
type ResetEnrolmentRequest struct {
	Actor   audit.Actor
	Install string
}

// ResetEnrolment forgets the agent of a deployment, so that another may enrol (G1): it is refused from then on. What was
// sealed to its key nobody can open any more. Faults: NotFound deployment_not_found, agent_not_found.
func (d *Desired) ResetEnrolment(ctx context.Context, in ResetEnrolmentRequest) error {
	return d.commit(ctx, in.Actor, func(ctx context.Context, w *work) error {
		if _, err := w.Deployments.Get(ctx, in.Install); err != nil {
			return err
		}
		agent, err := w.Agents.OfInstall(ctx, in.Install)
		if err != nil {
			return err
		}
		record := agent.Record()
		if err := w.Agents.Remove(ctx, record.ID); err != nil {
			return err
		}
		w.hint(in.Install)
		return w.note(ctx, "agent.enrolment_reset", in.Install, map[string]string{
			"agent": record.ID, "cluster": record.ClusterUID, "sequence": number(record.Sequence), "observed": number(record.Observed),
		})
	})
}

// alreadyEnrolled refuses a second agent of a deployment.
func alreadyEnrolled() *fault.Error {
	return fault.New(fault.Conflict, "already_enrolled", "the deployment has an agent already").
		Curable("have an operator reset the enrolment")
}
