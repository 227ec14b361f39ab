// Package catalog holds the use cases of what the vendor ships: apps, their releases, and the registries that images and
// charts may come from (E4, D2).
//
// A release is tried when it is made: rendered with its defaults, and judged by everything that does not depend on a
// deployment, so that what is wrong with it is told to who wrote it and not to who installs it. It never changes.
package catalog
