// Package entitlement is the commercial half of delivery: customers, the licenses they hold, the apps that are entitled
// on a license, the quota that all deployments of a license share, and the instants at which a right ends (E1, E2, E6).
// It says what a customer may run; package delivery says what does run.
package entitlement
