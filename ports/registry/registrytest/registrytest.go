// Package registrytest is the suite that every client of registries passes, and registries in memory for other tests.
package registrytest
