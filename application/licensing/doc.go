// Package licensing is what operators do with customers, their licenses, and the apps that are entitled on them (E1, E2).
//
// Whatever changes what may run calls every deployment of the license to review in the same transaction (E6); package
// desired carries the reviews out. Each change is audited with what was before and what is after.
package licensing
