// Package connect is where devices come in (R2): the Connect protocol over WebSocket, and attachments over HTTP.
// docs/connect.md says what devices see.
//
// A Handler serves both. It finds whose token a request carries, whether the tenant is served here or by a peer (R3), and
// then is the wire between a device and its session: what a device may do, and what is durable, is the Plane's to say.
// A Server is the devices' listener in front of it; the peers' listener hands its requests to the same Handler, marked by
// contract.WithForwarded.
//
// An idle connection costs one goroutine that reads and less than 1 KiB of buffers. Whoever has something to write starts
// a writer, which ends once there is nothing more; one sweeper pings all connections and cuts those that are silent.
package connect
