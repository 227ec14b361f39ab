// Package scale measures the control plane at two sizes in one run: few tenants, and as many as it is made for. It seeds
// Postgres by COPY, reads a sample of that back through the API, and then takes every operation that has to cost the same
// however many tenants there are. make scale runs it.
package scale
