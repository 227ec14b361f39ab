package delivery

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"berth/domain/fault"
)

// MaxFiles is how many files of YAML a release has at most.
const MaxFiles = 100

// EncodeFiles writes files of YAML as the one source that a release of manifests names: canonical JSON of {name: text}.
// Invalid, each problem named by its file: source_file_invalid, manifest_too_large, manifest_empty.
func EncodeFiles(files map[string]string) ([]byte, []*fault.Error) {
	var errs []*fault.Error
	size := 0
	for _, name := range sortedKeys(files) {
		size += len(files[name])
		if !validFileName(name) {
			errs = append(errs, invalid("source_file_invalid", "a file's name is 1 to 128 letters, digits, '.', '_' and '-'").At(short(name)))
		}
		if !utf8.ValidString(files[name]) {
			errs = append(errs, invalid("source_file_invalid", "a file is UTF-8").At(short(name)))
		}
	}
	switch {
	case len(files) == 0:
		errs = append(errs, invalid("manifest_empty", "there is no file"))
	case len(files) > MaxFiles:
		return nil, []*fault.Error{invalid("manifest_too_large", "a release has at most %d files", MaxFiles)}
	case size > MaxSource:
		errs = append(errs, invalid("manifest_too_large", "the files of a release have at most %d bytes together", MaxSource))
	}
	if len(errs) > 0 {
		return nil, errs
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(files); err != nil { // strings only
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func validFileName(name string) bool {
	return name != "" && len(name) <= 128 && consists(name, "._-") && name[0] != '.'
}

func short(text string) string { return Pointer([]string{text})[1:] }

// DecodeFiles reads what EncodeFiles wrote. Fault: Invalid manifest_invalid.
func DecodeFiles(source []byte) (map[string]string, error) {
	var files map[string]string
	if err := json.Unmarshal(source, &files); err != nil {
		return nil, invalid("manifest_invalid", "this is no source of manifests").Because(err)
	}
	again, errs := EncodeFiles(files)
	if len(errs) > 0 || !bytes.Equal(again, source) {
		return nil, invalid("manifest_invalid", "this is no source of manifests").Because(fault.All(errs...))
	}
	return files, nil
}
