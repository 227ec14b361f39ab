package market

import (
	"context"

	"berth/domain/delivery"
	"berth/ports/store"
)

// Agent returns the agent of the caller's deployment, to whose key secrets are sealed (D3). Fault: NotFound agent_not_found
// before one enrolled.
func (m *Market) Agent(ctx context.Context, c Caller) (delivery.AgentRecord, error) {
	var out delivery.AgentRecord
	err := m.Store.View(ctx, func(ctx context.Context, r *store.Roles) error {
		agent, err := r.Agents.OfInstall(ctx, c.install)
		if err == nil {
			out = agent.Record()
		}
		return err
	})
	return out, err
}
