// Package pack writes and reads the archives of delivery packages (K1): a gzipped tar, the same bytes for the same files,
// with a signed manifest of all that is in it.
package pack

// File is one file of a package. Name is a relative path with forward slashes.
type File struct {
	Name    string
	Content []byte
}

// Archiver makes and reads archives.
type Archiver interface {
	// Write returns the archive of the files, in the order of their names, without times, owners or anything else that
	// is not in them. Invalid package_file_invalid.
	Write(files []File) ([]byte, error)
	// Read returns the files. Invalid package_invalid for what is damaged, out of bounds, or names a place outside.
	Read(archive []byte) ([]File, error)
}
