package delivery

// Agent is the agent in a deployment's cluster.
type Agent struct{ record AgentRecord }

// RestoreAgent makes one of what was stored.
func RestoreAgent(record AgentRecord) *Agent { return &Agent{record} }

// Record returns what is to be stored.
func (v *Agent) Record() AgentRecord { return v.record }
