package pgstore

import "strconv"

// Planning is how each connection lets its statements be planned.
const Planning = planning

// Tables are those on which a role is asked for its rights.
func Tables(s *Store) []string { return s.tables() }

// LaterSteps adds steps to the schema that a store knows, as a later program would, readable from a version on.
func LaterSteps(s *Store, readableFrom int, sql ...string) {
	for _, text := range sql {
		version := len(s.schema) + 1
		s.schema = append(s.schema, Migration{
			Version: version, Name: "later", Checksum: strconv.Itoa(version), SQL: text, ReadableFrom: readableFrom,
		})
	}
}

// EarlierSteps leaves a store so many steps of the schema to know, as a program had that was made then.
func EarlierSteps(s *Store, n int) { s.schema = s.schema[:n] }
