package contract

import "time"

// SelectedService is an app of the first install.
type SelectedService struct {
	App        string         `json:"app" maxLength:"63"`
	Version    string         `json:"version,omitempty" maxLength:"64" doc:"Absent: the highest on the license that goes with the rest"`
	Parameters map[string]any `json:"parameters,omitempty" maxProperties:"64" doc:"A string, a number or a boolean each; secrets among them are never shown again"`
}

// NewDeployment asks for an installation.
type NewDeployment struct {
	Customer         string            `json:"customer" maxLength:"63"`
	License          string            `json:"license" maxLength:"64"`
	Namespace        string            `json:"namespace" maxLength:"63" doc:"That everything is to be in"`
	IngressHosts     []string          `json:"ingress_hosts,omitempty" maxItems:"64" doc:"The only hosts that its Ingresses may name"`
	ConfigMaps       bool              `json:"config_maps,omitempty" doc:"Whether ConfigMaps are among the kinds that it takes"`
	SelectedServices []SelectedService `json:"selected_services" maxItems:"200"`
}

// SelectedServices are those of a deployment.
type SelectedServices struct {
	SelectedServices []SelectedService `json:"selected_services" maxItems:"200"`
}

// SchemaGate lets customers' own upgrades through to releases that need schema migrations.
type SchemaGate struct {
	Open bool   `json:"open"`
	Note string `json:"note" maxLength:"512" doc:"Why"`
}

// NewParameters are all parameters that are chosen for an app.
type NewParameters struct {
	Parameters map[string]any `json:"parameters" maxProperties:"64" doc:"A string, a number or a boolean each. A secret, once an agent has enrolled, as {\"sealed\": \"…\"}: base64 of what was sealed to the agent's seal key"`
}

// Deployment is an installation.
type Deployment struct {
	InstallID        string            `json:"install_id"`
	Customer         string            `json:"customer"`
	License          string            `json:"license"`
	Namespace        string            `json:"namespace"`
	IngressHosts     []string          `json:"ingress_hosts"`
	ConfigMaps       bool              `json:"config_maps"`
	SelectedServices []SelectedService `json:"selected_services"`
	SchemaGate       SchemaGate        `json:"schema_gate"`
	Revision         int64             `json:"revision,omitempty,omitzero" doc:"Of its desired state; where one deployment is shown"`
	Frozen           bool              `json:"frozen,omitempty,omitzero" doc:"An agent holds a revision that is not of this history; a leap ends that"`
	Apps             []DesiredApp      `json:"apps,omitempty" doc:"Of its desired state; where one deployment is shown"`
	Agent            string            `json:"agent,omitempty" doc:"The id of its agent; absent where none is enrolled, and in lists"`
	CreatedAt        time.Time         `json:"created_at"`
	ChangedAt        time.Time         `json:"changed_at"`
}

// Deployments is a page of deployments.
type Deployments struct {
	Deployments []Deployment `json:"deployments"`
	Next        string       `json:"next,omitempty"`
}

// Blob is an object by its content.
type Blob struct {
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// DesiredSeal is where a secret goes.
type DesiredSeal struct {
	Parameter string `json:"parameter"`
	Secret    string `json:"secret"`
	Key       string `json:"key"`
	SHA256    string `json:"sha256,omitempty" doc:"Of the ciphertext; absent until it is sealed to the agent"`
}

// DesiredApp is one app in a desired state.
type DesiredApp struct {
	App        string            `json:"app"`
	Version    string            `json:"version"`
	Release    string            `json:"release" doc:"Digest of the release"`
	Manifests  Blob              `json:"manifests"`
	Images     []string          `json:"images" doc:"Pinned to digests"`
	Requires   []string          `json:"requires"`
	Seals      []DesiredSeal     `json:"seals"`
	Parameters map[string]string `json:"parameters" doc:"That were chosen, without secrets"`
	Usage      MarketUsage       `json:"usage"`
	Since      int64             `json:"since" doc:"The revision at which version, digests or parameters last changed"`
	Retry      int64             `json:"retry" doc:"How many times a quarantine was released"`
	Suspended  bool              `json:"suspended"`
	RunUntil   *time.Time        `json:"run_until,omitempty" doc:"When an agent that is cut off suspends it by itself"`
	Removed    bool              `json:"removed,omitempty,omitzero" doc:"A tombstone: the agent removes it"`
	Objects    []map[string]any  `json:"objects,omitempty" doc:"Rendered, where asked for; a viewer sees no data of Secrets"`
}

// Difference is what a revision made of an app.
type Difference struct {
	App    string `json:"app"`
	What   string `json:"what"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// DesiredState is one revision of a deployment's desired state.
type DesiredState struct {
	InstallID string       `json:"install_id"`
	Revision  int64        `json:"revision"`
	Current   bool         `json:"current" doc:"Whether it is the present one"`
	Frozen    bool         `json:"frozen,omitempty,omitzero"`
	Proven    int64        `json:"proven,omitempty,omitzero" doc:"The highest revision that was proved, or that an agent was enrolled at"`
	Claimed   int64        `json:"claimed,omitempty,omitzero" doc:"The highest revision that an agent says to hold"`
	At        time.Time    `json:"at"`
	Actor     string       `json:"actor"`
	Reason    string       `json:"reason"`
	Digest    string       `json:"digest" doc:"SHA-256 of what was signed"`
	Token     string       `json:"token,omitempty" doc:"As it was signed; where one revision is shown"`
	Diff      []Difference `json:"diff"`
	Apps      []DesiredApp `json:"apps,omitempty" doc:"Where one revision is shown"`
}

// DesiredHistory is a page of revisions, newest first.
type DesiredHistory struct {
	Revisions []DesiredState `json:"revisions"`
	Next      int64          `json:"next,omitempty,omitzero" doc:"Give it as before to get what follows"`
}

// Leap goes beyond whatever an agent may hold.
type Leap struct {
	Note string `json:"note" maxLength:"512" doc:"Why"`
}

// AgentCluster is the cluster that an agent is in.
type AgentCluster struct {
	UID       string   `json:"uid" maxLength:"128"`
	Version   string   `json:"version" maxLength:"128" doc:"Of Kubernetes"`
	Platforms []string `json:"platforms" maxItems:"16" doc:"Such as linux/amd64"`
}

// AgentState is the agent of a deployment.
type AgentState struct {
	AgentID          string          `json:"agent_id"`
	InstallID        string          `json:"install_id"`
	PublicKey        string          `json:"public_key" doc:"Ed25519, base64url"`
	SealKey          string          `json:"seal_key" doc:"The age recipient that secrets are sealed to"`
	SealKeySignature string          `json:"seal_key_signature" doc:"By the public key, over \"berth/agent-seal-key/v1\", NUL and the seal key; base64url. Check it, by a public key that you have pinned, before you seal"`
	Cluster          AgentCluster    `json:"cluster"`
	Version          string          `json:"version,omitempty" doc:"Of the agent"`
	EnrolledAt       time.Time       `json:"enrolled_at"`
	SeenAt           time.Time       `json:"seen_at" doc:"When it reported last, or another process spoke for it"`
	Sequence         int64           `json:"sequence" doc:"Of its last report"`
	ObservedRevision int64           `json:"observed_revision"`
	Revision         int64           `json:"revision" doc:"Of the present desired state"`
	Gaps             int64           `json:"gaps" doc:"How many times reports are missing"`
	Interleaved      int64           `json:"interleaved" doc:"How many times two processes used its key by turns"`
	Drift            []string        `json:"drift"`
	UnreadSecrets    []UnreadSecret  `json:"unread_secrets" doc:"Sealed to another agent's key: to be set again"`
	Apps             []ReportedState `json:"apps" doc:"As reported last"`
}

// UnreadSecret is a secret that the agent can not open.
type UnreadSecret struct {
	App       string `json:"app"`
	Parameter string `json:"parameter"`
}

// ReportedState is what was reported of an app.
type ReportedState struct {
	App         string     `json:"app"`
	Version     string     `json:"version,omitempty" doc:"That runs"`
	Outcome     string     `json:"outcome,omitempty"`
	Detail      string     `json:"detail,omitempty"`
	Failures    []string   `json:"failures"`
	Revision    int64      `json:"revision"`
	ReportedAt  *time.Time `json:"reported_at,omitempty"`
	Quarantined bool       `json:"quarantined" doc:"It failed, and is not tried again until it changes or is released"`
	Installed   bool       `json:"installed" doc:"By the customer's platform"`
}

// NewPackage asks for a delivery package.
type NewPackage struct {
	WithImages  bool    `json:"with_images,omitempty"`
	ApplyWithin *string `json:"apply_within,omitempty" maxLength:"16" example:"168h" doc:"How long the enrolment token within works"`
	FetchWithin *string `json:"fetch_within,omitempty" maxLength:"16" example:"24h" doc:"How long the link works"`
}

// Package is a delivery package.
type Package struct {
	ID          string    `json:"id"`
	DownloadURL string    `json:"download_url,omitempty" doc:"Works once; shown only here"`
	ExpiresAt   time.Time `json:"expires_at" doc:"The link ends then"`
	ApplyBefore time.Time `json:"apply_before" doc:"The enrolment token within ends then"`
	Revision    int64     `json:"revision"`
	SHA256      string    `json:"sha256"`
	Size        int64     `json:"size"`
}
