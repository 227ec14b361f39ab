// Package config has berthd's settings, and judges them. How they are read is for package settings to say.
package config
