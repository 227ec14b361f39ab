package contract

import "time"

// NewApp adds an app to the catalogue.
type NewApp struct {
	ID   string `json:"id" maxLength:"63" example:"shop"`
	Name string `json:"name" minLength:"1" maxLength:"128" doc:"For people"`
}

// App is something that the vendor ships.
type App struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// Apps is a page of the catalogue.
type Apps struct {
	Apps []App  `json:"apps"`
	Next string `json:"next,omitempty"`
}

// Source is what a release is rendered from: files, or a chart.
type Source struct {
	Kind  string            `json:"kind" enum:"manifests,helm"`
	Files map[string]string `json:"files,omitempty" doc:"Of manifests: YAML by file name. A value that is ${name} is replaced by that parameter; $${name} stands for the text"`
	Chart string            `json:"chart,omitempty" doc:"Of helm: oci://host/repository:version in a registered registry, or the packaged chart in base64"`
}

// Parameter is a value that a release leaves open.
type Parameter struct {
	Name             string   `json:"name" maxLength:"63" doc:"For a chart, dots part the names of nested values"`
	Type             string   `json:"type" enum:"string,int,bool,quantity,enum"`
	Default          any      `json:"default,omitzero" required:"false" doc:"A string, a boolean or a whole number, as the type has it"`
	Required         bool     `json:"required,omitempty"`
	Secret           bool     `json:"secret,omitempty" doc:"Sealed to the agent's key; a string without default"`
	CustomerSettable bool     `json:"customer_settable,omitempty" doc:"Whether an intent may set it"`
	Pattern          string   `json:"pattern,omitempty" maxLength:"256" doc:"Of a string: a regular expression (RE2) that the whole value matches"`
	Values           []string `json:"values,omitempty" maxItems:"64" doc:"Of an enum"`
}

// Requirement is an app that another one needs.
type Requirement struct {
	App      string `json:"app" maxLength:"63"`
	Versions string `json:"versions,omitempty" maxLength:"128" doc:"A semver constraint; absent for any release" example:">=1.2.0 <2.0.0"`
}

// NewRelease describes a version of an app.
type NewRelease struct {
	Version    string        `json:"version" maxLength:"64" doc:"Strict semver without build metadata" example:"1.2.3"`
	Source     Source        `json:"source"`
	Parameters []Parameter   `json:"parameters,omitempty" maxItems:"64"`
	Requires   []Requirement `json:"requires,omitempty" maxItems:"32"`
	Externals  []string      `json:"externals,omitempty" maxItems:"32" doc:"Objects that the release names and that are not its own, as Kind/name" example:"[\"Secret/registry-login\"]"`
	SchemaGate bool          `json:"schema_gate,omitempty" doc:"Customers' own upgrades to it wait until the deployment's schema gate is open"`
}

// Release is one version of an app; it never changes.
type Release struct {
	App        string        `json:"app"`
	Version    string        `json:"version"`
	Digest     string        `json:"digest" doc:"SHA-256 in hex of all that it is rendered and judged by"`
	Kind       string        `json:"kind" enum:"manifests,helm"`
	Source     string        `json:"source" doc:"SHA-256 in hex of its files or its chart"`
	Images     []string      `json:"images" doc:"As it names them with its defaults"`
	Parameters []Parameter   `json:"parameters"`
	Requires   []Requirement `json:"requires"`
	Externals  []string      `json:"externals"`
	SchemaGate bool          `json:"schema_gate"`
	CreatedAt  time.Time     `json:"created_at"`
}

// Releases is a page of an app's releases, by the bytes of their version.
type Releases struct {
	Releases []Release `json:"releases"`
	Next     string    `json:"next,omitempty"`
}

// NewRegistry registers a place that images and charts may come from.
type NewRegistry struct {
	Host           string `json:"host" maxLength:"240" doc:"host[:port], as image references name it" example:"registry.example.com"`
	CredentialsRef string `json:"credentials_ref,omitempty" maxLength:"512" doc:"Where the server finds username and password" example:"file:/etc/berth/registry.json"`
	CA             string `json:"ca,omitempty" maxLength:"65536" doc:"PEM of the CAs of its certificate; absent for the system's"`
	MirrorOf       string `json:"mirror_of,omitempty" maxLength:"240" doc:"The host that references name, where this one answers for it" example:"docker.io"`
	PlainHTTP      bool   `json:"plain_http,omitempty" doc:"Without TLS, for a registry of your own network"`
}

// Registry is a registered registry.
type Registry struct {
	Host           string    `json:"host"`
	CredentialsRef string    `json:"credentials_ref,omitempty"`
	CA             string    `json:"ca,omitempty"`
	MirrorOf       string    `json:"mirror_of,omitempty"`
	PlainHTTP      bool      `json:"plain_http"`
	CreatedAt      time.Time `json:"created_at"`
}

// Registries is a page of the registries.
type Registries struct {
	Registries []Registry `json:"registries"`
	Next       string     `json:"next,omitempty"`
}
