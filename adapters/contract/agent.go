package contract

import "time"

// AgentTokenScheme is how an agent sends the token that proves a request.
const AgentTokenScheme = "Bearer "

// AgentEnrol asks to become the agent of a deployment.
type AgentEnrol struct {
	Token            string       `json:"token" maxLength:"64" doc:"Of a package"`
	LicenseKey       string       `json:"license_key" maxLength:"256"`
	PublicKey        string       `json:"public_key" maxLength:"64" doc:"Ed25519, base64url"`
	SealKey          string       `json:"seal_key" maxLength:"256" doc:"An age recipient"`
	SealKeySignature string       `json:"seal_key_signature" maxLength:"128" doc:"By the public key, over \"berth/agent-seal-key/v1\", NUL and the seal key; base64url"`
	Cluster          AgentCluster `json:"cluster"`
}

// AgentEnrolled is what an agent needs to begin.
type AgentEnrolled struct {
	AgentID         string       `json:"agent_id"`
	InstallID       string       `json:"install_id"`
	MinimumRevision int64        `json:"minimum_revision" doc:"Refuse whatever is below"`
	TrustAnchors    TrustAnchors `json:"trust_anchors"`
	Poll            AgentPolling `json:"poll"`
}

// TrustAnchors are the keys by which agents check what they are told.
type TrustAnchors struct {
	Keys []TrustAnchor `json:"keys"`
}

// TrustAnchor is one key, for one purpose.
type TrustAnchor struct {
	KID         string    `json:"kid"`
	Purpose     string    `json:"purpose" enum:"desired-state,package"`
	PublicKey   []byte    `json:"public_key" doc:"Ed25519, base64"`
	VerifyUntil time.Time `json:"verify_until"`
}

// AgentPolling is how to poll.
type AgentPolling struct {
	Wait     string `json:"wait" example:"30s" doc:"The longest that a poll may wait"`
	Interval string `json:"interval" example:"30s" doc:"Between polls that do not wait"`
}

// AgentReport is what an agent says of its cluster.
type AgentReport struct {
	Sequence         int64              `json:"sequence" minimum:"1" maximum:"9007199254740991"`
	ObservedRevision int64              `json:"observed_revision" minimum:"0" maximum:"9007199254740991"`
	Apps             []AgentReportedApp `json:"apps" maxItems:"200"`
	Drift            []string           `json:"drift,omitempty" maxItems:"1000"`
	Agent            AgentVersion       `json:"agent"`
}

// AgentReportedApp is what runs of an app, and what became of what was to run.
type AgentReportedApp struct {
	App      string   `json:"app" maxLength:"63"`
	Version  string   `json:"version,omitempty" maxLength:"64" doc:"That runs: after a rollback the one before"`
	Outcome  string   `json:"outcome" enum:"healthy,progressing,rolled_back,rollback_failed,failed,suspended,removed"`
	Detail   string   `json:"detail,omitempty" maxLength:"65536"`
	Failures []string `json:"failures,omitempty" maxItems:"1000"`
	Digest   string   `json:"digest,omitempty" maxLength:"128" doc:"SHA-256 of the manifests that run"`
}

// AgentVersion is what an agent is.
type AgentVersion struct {
	Version string `json:"version,omitempty" maxLength:"128"`
}

// AgentProof is a desired state that an agent holds.
type AgentProof struct {
	DesiredState string `json:"desired_state" maxLength:"8192" doc:"The compact JWS"`
}
