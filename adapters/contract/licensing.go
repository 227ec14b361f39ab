package contract

import "time"

// NewCustomer asks for a customer.
type NewCustomer struct {
	ID   string `json:"id" maxLength:"63" doc:"1 to 63 of a-z, 0-9 and -"`
	Name string `json:"name" minLength:"1" maxLength:"100" doc:"For people"`
}

// Customer is who holds licenses.
type Customer struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"created_at"`
}

// Customers is a page of customers.
type Customers struct {
	Customers []Customer `json:"customers"`
	Next      string     `json:"next,omitempty"`
}

// Quota is what all deployments of a license may use together.
type Quota struct {
	Apps     int64  `json:"apps" minimum:"1" maximum:"9007199254740991"`
	Replicas int64  `json:"replicas" minimum:"1" maximum:"9007199254740991"`
	CPU      string `json:"cpu" maxLength:"64" doc:"A Kubernetes quantity" example:"2500m"`
	Memory   string `json:"memory" maxLength:"64" doc:"A Kubernetes quantity" example:"4Gi"`
}

// NewLicense asks for a license.
type NewLicense struct {
	Customer    string    `json:"customer" maxLength:"63"`
	Environment string    `json:"environment" enum:"PROD,DEV"`
	ExpiresAt   time.Time `json:"expires_at" doc:"Ahead, by at most 100 years; a license that never expires there is not"`
	Grace       string    `json:"grace,omitempty" minLength:"1" maxLength:"32" example:"72h" doc:"How long apps go on running after an expiry; 168h where it is absent, 0s for none"`
	Enforce     string    `json:"enforce" enum:"enforce,observe" doc:"observe: commercial rules that are not met are recorded and let pass"`
	Quota       Quota     `json:"quota"`
}

// LicenseChange changes terms of a license; what is absent stays.
type LicenseChange struct {
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Renews it"`
	Grace     *string    `json:"grace,omitempty" minLength:"1" maxLength:"32" example:"72h"`
	Enforce   *string    `json:"enforce,omitempty" enum:"enforce,observe"`
	Quota     *Quota     `json:"quota,omitempty" doc:"As a whole"`
}

// License is a license, with its key where that is shown: once.
type License struct {
	ID          string       `json:"id"`
	Customer    string       `json:"customer"`
	Environment string       `json:"environment" enum:"PROD,DEV"`
	Status      string       `json:"status" enum:"active,suspended,revoked"`
	Enforce     string       `json:"enforce" enum:"enforce,observe"`
	ExpiresAt   time.Time    `json:"expires_at"`
	Grace       string       `json:"grace" example:"168h0m0s"`
	Quota       Quota        `json:"quota"`
	Used        *MarketUsage `json:"used,omitempty" doc:"By all its deployments; where one license is shown"`
	Revision    int64        `json:"revision" doc:"Raised by one with every change of the license or of its apps"`
	LicenseKey  string       `json:"license_key,omitempty" doc:"Shown once"`
	CreatedAt   time.Time    `json:"created_at"`
	ChangedAt   time.Time    `json:"changed_at"`
}

// Licenses is a page of licenses.
type Licenses struct {
	Licenses []License `json:"licenses"`
	Next     string    `json:"next,omitempty"`
}

// LicenseApps is the whole list of apps that are to be on a license.
type LicenseApps struct {
	Apps []LicenseApp `json:"apps" maxItems:"1000"`
}

// LicenseApp is one app that is to be on a license.
type LicenseApp struct {
	App       string     `json:"app" maxLength:"63"`
	ExpiresAt *time.Time `json:"expires_at,omitempty" doc:"Absent: with the license"`
	Versions  string     `json:"versions,omitempty" maxLength:"200" example:"^1.2.0" doc:"A range of versions; absent: any"`
}

// EntitledApps are the apps of a license.
type EntitledApps struct {
	Revision  int64         `json:"revision" doc:"Of the license"`
	Apps      []EntitledApp `json:"apps" doc:"On the license"`
	Withdrawn []EntitledApp `json:"withdrawn" doc:"That were on it; what runs of them ends after the grace"`
}

// EntitledApp is one app of a license.
type EntitledApp struct {
	App         string     `json:"app"`
	ExpiresAt   *time.Time `json:"expires_at,omitempty" doc:"Absent: with the license"`
	Versions    string     `json:"versions,omitempty"`
	GrantedAt   time.Time  `json:"granted_at"`
	WithdrawnAt *time.Time `json:"withdrawn_at,omitempty"`
}
