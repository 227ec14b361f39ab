package contract

import "time"

// MarketApps are the apps on a customer's license.
type MarketApps struct {
	Apps []MarketApp `json:"apps"`
}

// MarketApp is an app on a customer's license, as its platform sees it.
type MarketApp struct {
	App              string          `json:"app"`
	Name             string          `json:"name"`
	Versions         []string        `json:"versions" doc:"That may be asked for, the highest first; at most 100"`
	State            string          `json:"state" enum:"entitled,deployed,installed" doc:"deployed by the agent's reports only; installed by the platform's own word"`
	Deployed         *MarketDeployed `json:"deployed,omitempty" doc:"What the agent reported last; absent where it never did"`
	Desired          string          `json:"desired,omitempty" doc:"The version that is to run"`
	Suspended        bool            `json:"suspended" doc:"Scaled to zero by the license; data and configuration are kept"`
	UpgradeAvailable bool            `json:"upgrade_available"`
	Blocked          []MarketBlock   `json:"blocked" doc:"What stands against installing it, or against upgrading it, as far as is known without rendering it"`
}

// MarketDeployed is what an agent reported of an app.
type MarketDeployed struct {
	Version    string    `json:"version,omitempty" doc:"That runs; absent where none does"`
	Health     string    `json:"health" enum:"healthy,progressing,rolled_back,rollback_failed,failed,suspended,removed"`
	Detail     string    `json:"detail,omitempty"`
	Revision   int64     `json:"revision" doc:"Of the desired state that was reported on"`
	ReportedAt time.Time `json:"reported_at"`
	Stale      bool      `json:"stale" doc:"The report is old; it is the last there is"`
}

// MarketBlock is one thing that stands against an app.
type MarketBlock struct {
	Slug   string `json:"slug"`
	Detail string `json:"detail,omitempty"`
	Cure   string `json:"cure"`
}

// NewIntent asks for an app to be installed, upgraded or uninstalled.
type NewIntent struct {
	Action     string         `json:"action" enum:"install,upgrade,uninstall"`
	Version    string         `json:"version,omitempty" maxLength:"64" doc:"Absent: the highest that there is for this license and that goes with the rest"`
	Parameters map[string]any `json:"parameters,omitempty" maxProperties:"64" doc:"A string, a number or a boolean each; a secret also as an object with the one field sealed, in base64. Only those that customers may set"`
}

// Intent is something that a customer asked for and that was granted.
type Intent struct {
	ID        string     `json:"id"`
	App       string     `json:"app"`
	Action    string     `json:"action" enum:"install,upgrade,uninstall"`
	Version   string     `json:"version"`
	From      string     `json:"from,omitempty" doc:"The version before"`
	State     string     `json:"state" enum:"accepted,delivering,succeeded,rolled_back,failed,superseded"`
	Revision  int64      `json:"revision" doc:"Of the desired state that carries it"`
	Waived    []string   `json:"waived" doc:"Rules of the license that are not met and were let pass"`
	Detail    string     `json:"detail,omitempty" doc:"What the agent said, or what took its place"`
	CreatedAt time.Time  `json:"created_at"`
	ChangedAt time.Time  `json:"changed_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`
}

// NewInstallation is a platform's word on whether it installed an app.
type NewInstallation struct {
	Installed bool   `json:"installed"`
	Version   string `json:"version,omitempty" maxLength:"64" doc:"That was installed; needed where one was"`
}

// Installation is a platform's word as it is kept.
type Installation struct {
	App         string     `json:"app"`
	Installed   bool       `json:"installed"`
	Version     string     `json:"version,omitempty"`
	InstalledAt *time.Time `json:"installed_at,omitempty"`
}

// MarketAgent is the agent in a customer's cluster, as far as whoever seals a secret to it needs to know.
type MarketAgent struct {
	AgentID          string `json:"agent_id"`
	InstallID        string `json:"install_id"`
	PublicKey        string `json:"public_key" doc:"Ed25519, base64url; pin it"`
	SealKey          string `json:"seal_key" doc:"The age recipient that secrets are sealed to"`
	SealKeySignature string `json:"seal_key_signature" doc:"By the public key, over \"berth/agent-seal-key/v1\", NUL and the seal key; base64url. Check it before you seal"`
}

// MarketLicense is a customer's license, as its platform sees it.
type MarketLicense struct {
	ID          string      `json:"id"`
	Customer    string      `json:"customer"`
	Environment string      `json:"environment" enum:"PROD,DEV"`
	Status      string      `json:"status" enum:"active,suspended,revoked"`
	Enforce     string      `json:"enforce" enum:"enforce,observe"`
	ExpiresAt   time.Time   `json:"expires_at"`
	Grace       string      `json:"grace" doc:"How long apps go on running after an expiry, e.g. 168h0m0s"`
	Apps        int         `json:"apps" doc:"How many apps are on it"`
	Quota       MarketUsage `json:"quota" doc:"Of all deployments of the license together"`
	Used        MarketUsage `json:"used"`
}

// MarketUsage is what runs, or may run.
type MarketUsage struct {
	Apps     int64  `json:"apps"`
	Replicas int64  `json:"replicas"`
	CPU      string `json:"cpu" doc:"A Kubernetes quantity" example:"2500m"`
	Memory   string `json:"memory" doc:"A Kubernetes quantity" example:"4Gi"`
}
