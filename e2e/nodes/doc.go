// Package nodes has the scenarios of real nodes: berth-relay processes that enrol at replicas of the control plane, live
// by their lease behind a real ingress, and are killed, stopped, cut off and cloned.
package nodes
