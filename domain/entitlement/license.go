package entitlement

// License is a customer's license. Whether its key is the right one, what it entitles to and until when, is asked of it.
type License struct{ record LicenseRecord }

// RestoreLicense makes a license of what was stored.
func RestoreLicense(record LicenseRecord) *License { return &License{record} }

// Record returns what is to be stored.
func (l *License) Record() LicenseRecord { return l.record }
