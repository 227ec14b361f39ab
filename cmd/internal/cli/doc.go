// Package cli is what the programs have in common on a command line: how a command is refused, what is said of a failure and
// by which exit code, signals, the configuration and the version in print, and the page of metrics beside what is served.
package cli
