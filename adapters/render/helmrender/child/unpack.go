package child

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"path"
	"strings"

	"helm.sh/helm/v4/pkg/chart/loader/archive"
)

const (
	maxFiles    = 2000
	maxSubDepth = 4 // of packages within packages
)

// unpacking counts what all packages hold, those within others too.
type unpacking struct {
	left  int64
	files int
}

// unpack reads a packaged chart's files, below its folder's name. Helm passes over what it does not want; here a chart
// with a link, a device or a name that leads out of it is refused, since nobody packaged that by mistake. Packages within
// are unpacked in place, so that everything is counted once.
func (u *unpacking) unpack(packaged []byte, depth int) ([]*archive.BufferedFile, error) {
	if depth > maxSubDepth {
		return nil, invalid("charts are packaged within one another deeper than %d", maxSubDepth)
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(packaged))
	if err != nil {
		return nil, invalid("a packaged chart is a gzipped tar: %v", err)
	}
	var all []*archive.BufferedFile
	seen := map[string]bool{}
	for entries := tar.NewReader(unzipped); ; {
		header, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return all, u.whole(unzipped)
		}
		if err != nil {
			return nil, invalid("a packaged chart is a gzipped tar: %v", err)
		}
		files, err := u.entry(entries, header, seen, depth)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
}

// whole reads to the end, where the checksum is: a package that was cut off or damaged is none.
func (u *unpacking) whole(from io.Reader) error {
	n, err := io.Copy(io.Discard, io.LimitReader(from, u.left+1))
	if u.left -= n; u.left < 0 {
		return invalid("a chart is larger than is unpacked")
	}
	if err != nil {
		return invalid("a packaged chart is a gzipped tar: %v", err)
	}
	return nil
}

// entry reads one, which is a file, or a package of several; a folder is none.
func (u *unpacking) entry(from io.Reader, header *tar.Header, seen map[string]bool, depth int) ([]*archive.BufferedFile, error) {
	if header.Typeflag == tar.TypeXGlobalHeader {
		return nil, nil
	}
	name, err := u.name(header)
	if err != nil || header.Typeflag == tar.TypeDir {
		return nil, err
	}
	if seen[name] {
		return nil, invalid("%q is in the package twice", header.Name)
	}
	seen[name] = true
	return u.read(from, name, depth)
}

// name returns where an entry is within its chart.
func (u *unpacking) name(header *tar.Header) (string, error) {
	if u.files++; u.files > maxFiles {
		return "", invalid("a chart has more than %d files", maxFiles)
	}
	if header.Typeflag != tar.TypeReg && header.Typeflag != tar.TypeDir {
		return "", invalid("%q is neither a file nor a folder", header.Name)
	}
	whole := strings.TrimSuffix(header.Name, "/")
	_, name, within := strings.Cut(whole, "/")
	if strings.ContainsAny(whole, "\\\x00") || path.Clean(whole) != whole || path.IsAbs(whole) || strings.HasPrefix(whole, "..") {
		return "", invalid("%q is no name within a chart", header.Name)
	}
	if !within && header.Typeflag != tar.TypeDir {
		return "", invalid("%q is not in the chart's folder", header.Name)
	}
	return name, nil
}

func (u *unpacking) read(from io.Reader, name string, depth int) ([]*archive.BufferedFile, error) {
	data, err := io.ReadAll(io.LimitReader(from, u.left+1))
	if err != nil {
		return nil, invalid("%q can not be unpacked: %v", name, err)
	}
	if u.left -= int64(len(data)); u.left < 0 {
		return nil, invalid("a chart is larger than is unpacked")
	}
	if folder, file := path.Split(name); folder != "charts/" || path.Ext(file) != ".tgz" {
		return []*archive.BufferedFile{{Name: name, Data: bytes.TrimPrefix(data, []byte("\ufeff"))}}, nil
	}
	files, err := u.unpack(data, depth+1)
	for _, f := range files {
		f.Name = strings.TrimSuffix(name, ".tgz") + "/" + f.Name
	}
	return files, err
}
