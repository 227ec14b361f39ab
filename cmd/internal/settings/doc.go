// Package settings reads and judges what a program is set to. Its settings are the fields of one struct, of the types
// string, int, bool, time.Duration and []string, each with the tag koanf, its name, and the tag usage, what people read of
// it. A setting has one name: listen in the file, PREFIX_LISTEN in the environment, --listen on the command line. A flag
// goes before the environment, the environment before the file, the file before the default.
//
// No setting is a secret: secrets stand in files of mode 0600 that settings name. A URL may hold a password all the same,
// so settings that end in _url are shown without it.
package settings
