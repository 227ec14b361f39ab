package delivery

import (
	"time"

	"berth/domain/audit"
	"berth/domain/entitlement"
)

// App is something that the vendor ships.
type App struct {
	ID        string // ident.Check
	Name      string
	CreatedAt time.Time
}

// SourceKind is what a release is rendered from.
type SourceKind string

// The kinds.
const (
	SourceManifests SourceKind = "manifests" // files of YAML
	SourceHelm      SourceKind = "helm"      // a packaged chart
)

// ParameterType is the type of a parameter's value.
type ParameterType string

// The types (DESIGN §14).
const (
	ParameterString   ParameterType = "string"
	ParameterInt      ParameterType = "int"
	ParameterBool     ParameterType = "bool"
	ParameterQuantity ParameterType = "quantity"
	ParameterEnum     ParameterType = "enum"
)

// Parameter is one value that a release leaves open. Values travel as text in the form of their type.
type Parameter struct {
	Name             string
	Type             ParameterType
	Default          string // in force where HasDefault
	HasDefault       bool
	Required         bool
	Secret           bool // sealed to the agent's key (D3); a string
	CustomerSettable bool // by an intent (E4)
	Pattern          string
	Values           []string // of an enum
}

// Requirement is an app that another one needs, in a version within a semver constraint.
type Requirement struct {
	App      string
	Versions string
}

// Release is one version of an app. It never changes: the same version with another content is refused.
type Release struct {
	App        string
	Version    string // strict semver without build metadata
	Digest     string // SHA-256 in hex of all that follows, by which what was checked is what is rendered
	Kind       SourceKind
	Source     string // SHA-256 in hex of the object that holds the files or the chart
	Parameters []Parameter
	Requires   []Requirement
	Externals  []string // objects that its manifests may name and that are not theirs: "Secret/registry-login"
	SchemaGate bool     // customers' own upgrades to it wait for the gate (E8)
	Images     []string // as its manifests name them with default parameters, sorted
	CreatedAt  time.Time
}

// Registry is a place that images and charts may come from; there is no other (E4).
type Registry struct {
	Host           string // host[:port], as image references name it
	CredentialsRef string // where the credentials are, such as file:PATH; never the credentials
	CA             string // PEM of CAs that sign its certificate; empty: the system's
	MirrorOf       string // the host that references name, where this one answers for it
	PlainHTTP      bool   // without TLS: for a registry of one's own network only
	CreatedAt      time.Time
}

// Choice is an app with what was chosen for it: a selected service, or what is asked for.
type Choice struct {
	App        string
	Version    string            // empty: the highest that is entitled
	Parameters map[string]string // without secrets
}

// DeploymentRecord is one installation (E2).
type DeploymentRecord struct {
	InstallID    string // ins_…
	Customer     string
	License      string
	Namespace    string
	IngressHosts []string // the only hosts that its Ingresses may name
	ConfigMaps   bool     // whether ConfigMaps are among the kinds that it takes (D2)
	Selected     []Choice // of the first install
	GateOpen     bool     // the schema gate (E8)
	GateNote     string
	ReviewAt     time.Time // when its desired state has to be looked at again: an expiry bites, a license changed; zero: never
	CreatedAt    time.Time
	ChangedAt    time.Time
}

// Blob names an object by its content.
type Blob struct {
	SHA256 string // hex
	Size   int64
}

// Seal is one secret value: where the agent puts it, and the ciphertext by its content (D3).
type Seal struct {
	Parameter string
	Secret    string // name of the Secret object
	Key       string // within its data
	SHA256    string // of the sealed text; empty until the agent has enrolled
}

// DesiredApp is one app in a desired state.
type DesiredApp struct {
	App        string
	Version    string
	Release    string // Release.Digest
	Manifests  Blob   // rendered, with images pinned to digests
	Images     []string
	Objects    []string // as Kind/name: no two apps of a deployment have one in common; not told to the agent
	Requires   []string // apps of the same deployment, for the order of applying
	Seals      []Seal
	Parameters map[string]string // that it was rendered with, without secrets; not told to the agent
	Usage      entitlement.Usage
	Since      int64     // the revision at which version, digests or parameters last changed: the quarantine's key
	Retry      int64     // raised when an operator releases a quarantine, so that the agent tries again (G5)
	Suspended  bool      // scaled to zero, data and configuration kept (E6)
	RunUntil   time.Time // when an agent that is cut off suspends it by itself (D1); zero in observe mode
	Removed    bool      // a tombstone: the agent removes it and reports so (G9)
}

// DesiredRecord is the present desired state of a deployment: its head.
type DesiredRecord struct {
	InstallID string
	License   string
	Revision  int64
	Apps      []DesiredApp // by app
	Digest    string       // SHA-256 in hex of the signed payload; part of the ETag
	Token     string       // the compact JWS (DESIGN §14)
	Usage     entitlement.Usage
	At        time.Time
	Frozen    bool  // an agent proved, or claims, a revision that is not of this history (D4): nothing is told until a leap
	Proven    int64 // the highest revision proved by something that was signed here
	Claimed   int64 // the highest revision that an agent says to hold
}

// Revision is one step of a desired state's history; it never changes (E5).
type Revision struct {
	InstallID string
	Revision  int64
	At        time.Time
	Actor     audit.Actor
	Reason    string // "intent int_…", "license expired", "selected services", …
	Diff      []Difference
	Apps      []DesiredApp
	Digest    string
	Token     string
}

// Difference is what one revision made of one app.
type Difference struct {
	App    string
	What   string // "installed", "upgraded", …: DiffInstalled to DiffForgotten
	Before string // the version, where there was one
	After  string
}

// AgentRecord is the agent of a deployment (G1); there is at most one.
type AgentRecord struct {
	ID          string // agt_…
	InstallID   string
	PublicKey   []byte // Ed25519, 32 bytes
	SealKey     string // age recipient
	SealProof   []byte // its signature by PublicKey, which whoever seals checks (D3)
	ClusterUID  string
	ClusterInfo string // Kubernetes version
	Platforms   []string
	Version     string // of the agent
	EnrolledAt  time.Time
	Sequence    int64  // of its last report
	Observed    int64  // the revision that it last reported on
	Gaps        int64  // how many times a sequence was left out
	Instance    string // of the process that was heard last
	Before      string // of the process that was heard before it
	Interleaved int64  // how many times another process used the key in between (G1)
	SeenAt      time.Time
	Drift       []string // as last reported
}

// Outcome is what an agent says became of an app.
type Outcome string

// The outcomes of API.md.
const (
	OutcomeHealthy        Outcome = "healthy"
	OutcomeProgressing    Outcome = "progressing"
	OutcomeRolledBack     Outcome = "rolled_back"
	OutcomeRollbackFailed Outcome = "rollback_failed"
	OutcomeFailed         Outcome = "failed"
	OutcomeSuspended      Outcome = "suspended"
	OutcomeRemoved        Outcome = "removed"
)

// Observation is what is known of an app in a cluster: what the agent reported, and what the customer's platform did
// (E7). No probing is in it.
type Observation struct {
	InstallID   string
	App         string
	Version     string // that runs, by the agent; empty: none
	Outcome     Outcome
	Detail      string
	Failures    []string
	Revision    int64     // of the desired state that was reported on
	Digest      string    // of what runs
	ReportedAt  time.Time // zero: never
	Installed   bool      // by the customer's platform only
	InstalledAt time.Time
	InstalledAs string // the version that the platform installed
	Reached     string // the highest version that was ever tried here, uninstalled since or not: data may be in its form (E8)
	Quarantined int64  // DesiredApp.Since of what failed and is not tried again (G5); 0: none
}

// Action is what a customer asks for.
type Action string

// The actions.
const (
	Install   Action = "install"
	Upgrade   Action = "upgrade"
	Uninstall Action = "uninstall"
)

// IntentState is where an intent stands.
type IntentState string

// The states.
const (
	IntentAccepted   IntentState = "accepted"
	IntentDelivering IntentState = "delivering"
	IntentSucceeded  IntentState = "succeeded"
	IntentRolledBack IntentState = "rolled_back"
	IntentFailed     IntentState = "failed"
	IntentSuperseded IntentState = "superseded"
)

// IntentRecord is one thing that a customer asked for and that was granted.
type IntentRecord struct {
	ID        string // int_…
	InstallID string
	License   string
	App       string
	Action    Action
	Version   string // asked for, or found
	From      string // the version before; empty: none
	State     IntentState
	Revision  int64    // of the desired state that carries it
	Waived    []string // slugs of the commercial rules that were not met and let pass (observe)
	Detail    string   // what the agent said, where it failed
	CreatedAt time.Time
	ChangedAt time.Time
	EndedAt   time.Time // zero while in flight
}

// Custody is who can open a secret value.
type Custody string

// The custodies (D3).
const (
	CustodyControl Custody = "control" // wrapped through keywrap, until the agent has enrolled
	CustodyAgent   Custody = "agent"   // sealed to the agent's key; nobody here can open it
)

// SecretValue is a secret parameter's value in custody. The text is ciphertext, always.
type SecretValue struct {
	InstallID string
	App       string
	Parameter string
	Custody   Custody
	Text      []byte
	Recipient string // the age recipient; empty under control
	SetAt     time.Time
}

// PackageRecord is one delivery package (K1). The link's token is kept as a one-time secret.
type PackageRecord struct {
	ID          string // pkg_…
	InstallID   string
	Revision    int64 // of the desired state within
	Content     Blob  // as it is kept: sealed by the link (SealArchive)
	CreatedAt   time.Time
	ApplyBefore time.Time // the enrolment token within ends then
	ExpiresAt   time.Time // the link ends then
	FetchedAt   time.Time // zero: the link was not used yet
}
