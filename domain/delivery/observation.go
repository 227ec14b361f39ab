package delivery

// Gone tells whether the agent reported that an app is removed, on the tombstone that it is told of or a later revision
// (G9).
func (o Observation) Gone(tombstone DesiredApp) bool {
	return tombstone.Removed && o.Outcome == OutcomeRemoved && o.Revision >= tombstone.Since
}

// InQuarantine tells whether an app, as it is desired now, failed and is not tried again (G5).
func (o Observation) InQuarantine(desired DesiredApp) bool {
	return o.Quarantined != 0 && o.Quarantined == desired.Since
}
