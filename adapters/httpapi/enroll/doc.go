// Package enroll serves the enrolment of nodes, on a listener of its own (I5). Whoever asks has no identity yet: what lets
// a node in is its join token.
package enroll
