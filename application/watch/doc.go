// Package watch runs what a replica of the control plane does by itself, again and again: its duties. Some run on every
// replica, the others on the one that leads (domain/leadership).
//
// Nothing rests on there being one leader only. Each step that a duty takes is a compare-and-set in a transaction of its
// own, so that a duty is safe on several replicas at once: on a leader that was paused at the wrong moment and on the
// next, or on both halves of a network. Leadership spares the database the same sweep from each replica.
package watch
