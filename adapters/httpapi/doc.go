// Package httpapi is what every HTTP audience of Berth shares: an engine with limits, strict JSON, one mapping from
// faults to problems (RFC 9457), conditional requests, cursors, repeated requests, and graceful servers. The audiences
// themselves (operator, node, device) are packages below it and never mix on a listener (DESIGN §9).
package httpapi
