// Package connect has the scenarios of devices: phones and desktops that are connected to real nodes, through their own
// listeners, through one another, and through networks that are cut, while nodes are killed, moved and revoked beneath them.
package connect
