// Package ingressd runs an ingress: its settings, the files that it follows, and the trust bundle that it keeps fresh. It is
// all of berth-ingress, and what berthd embeds.
package ingressd
