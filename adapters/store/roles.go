package store

import port "berth/ports/store"

// Roles are the roles of this transaction.
func (t *Tx) Roles() *port.Roles {
	return &port.Roles{
		Regions: regions{aggregateOf(t, regionTable)}, Nodes: nodes{aggregateOf(t, nodeTable)},
		Leases: aggregateOf(t, leaseTable), Placements: placements{aggregateOf(t, placementTable)},
		Migrations: migrations{aggregateOf(t, migrationTable)}, Queue: queue{t}, Backups: backups{t},
		Leaders: aggregateOf(t, leaderTable), Origin: t.session.Origin,
		Tenants: tenants{aggregateOf(t, tenantTable)}, Principals: principals{aggregateOf(t, principalTable)},
		Handles: handles{t}, Routes: routes{t}, Changes: changes{t}, Standings: standings{t},
		Credentials: credentials{aggregateOf(t, credentialTable)}, Keys: signingKeys{aggregateOf(t, signingKeyTable)},
		Tokens: operatorTokens{aggregateOf(t, operatorTokenTable)}, Secrets: secrets{aggregateOf(t, secretTable)},
		Nonces: nonces{t}, Customers: customers{aggregateOf(t, customerTable)}, Licenses: licenses{aggregateOf(t, licenseTable)},
		Entitlements: entitlements{t}, Apps: apps{aggregateOf(t, appTable)}, Releases: releases{t},
		Registries: registries{aggregateOf(t, registryTable)}, Deployments: deployments{aggregateOf(t, deploymentTable)},
		DesiredStates: desiredStates{aggregateOf(t, desiredTable)}, Revisions: revisions{t}, Objects: objects{t},
		Agents: agents{aggregateOf(t, agentTable)}, Observations: observations{t},
		Intents: intents{aggregateOf(t, intentTable)}, SecretValues: secretValues{t},
		Packages: packages{aggregateOf(t, packageTable)}, WrappedSecrets: wrappedSecrets{t},
		Audit: entries{t}, Idempotency: idempotency{t},
	}
}

func aggregateOf[T, R any](t *Tx, table func() table[T, R]) aggregate[T, R] {
	return aggregate[T, R]{t, table()}
}
