// Package device serves /v1/devices, where a device pairs and gets its tokens, and the public key set.
package device
