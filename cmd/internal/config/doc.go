// Package config reads and judges berthd's settings. Each setting has one name: listen in the file, BERTH_LISTEN in the
// environment, --listen on the command line. A flag goes before the environment, the environment before the file, the
// file before the default.
//
// No setting is a secret: secrets stand in files of mode 0600 that settings name. A database URL may hold a password all
// the same, so URLs are shown without it.
package config
