// Package watch runs what a replica of the control plane does by itself, again and again: its sweeps. Every replica
// runs all duties; each duty is safe on several replicas at once.
package watch
