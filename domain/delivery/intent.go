package delivery

// Intent is one thing that a customer asked for.
type Intent struct{ record IntentRecord }

// RestoreIntent makes one of what was stored.
func RestoreIntent(record IntentRecord) *Intent { return &Intent{record} }

// Record returns what is to be stored.
func (v *Intent) Record() IntentRecord { return v.record }
