// Package lab gives tests what they need around them: a Docker engine, Postgres servers that can be stopped, frozen,
// filled up, copied and promoted, and containers in general. The scripts beside it bring up the engine and the image.
//
// Nothing is left behind: a container goes with the test that asked for it, and whatever there still is goes with the test
// process, however that ends.
package lab
