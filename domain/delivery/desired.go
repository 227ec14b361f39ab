package delivery

// Desired is the present desired state of a deployment.
type Desired struct{ record DesiredRecord }

// RestoreDesired makes one of what was stored.
func RestoreDesired(record DesiredRecord) *Desired { return &Desired{record} }

// Record returns what is to be stored.
func (v *Desired) Record() DesiredRecord { return v.record }
