package delivery

// Deployment is one installation of the vendor's software.
type Deployment struct{ record DeploymentRecord }

// RestoreDeployment makes one of what was stored.
func RestoreDeployment(record DeploymentRecord) *Deployment { return &Deployment{record} }

// Record returns what is to be stored.
func (v *Deployment) Record() DeploymentRecord { return v.record }
