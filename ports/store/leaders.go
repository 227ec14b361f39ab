package store

import "berth/domain/leadership"

// Leaders are who leads what only one replica needs to do, by duty.
type Leaders interface {
	Aggregate[*leadership.Term]
}
