// Package enginetest proves implementations of ports/engine: Run, RunEngines and RunIdentity check what each promises, and Memory is
// a disk that needs no disk.
package enginetest
