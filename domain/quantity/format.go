package quantity

import "strconv"

// FormatMilliCPU writes thousandths of a CPU: "2" or "1500m". MilliCPU reads it back as it was. It takes no number below
// zero.
func FormatMilliCPU(milli int64) string {
	if milli%1000 == 0 {
		return strconv.FormatInt(milli/1000, 10)
	}
	return strconv.FormatInt(milli, 10) + "m"
}

// FormatBytes writes bytes with the largest binary suffix that is exact: "8Gi", "1536Mi", "1000". Bytes reads it back as
// it was. It takes no number below zero.
func FormatBytes(bytes int64) string {
	suffixes := [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}
	step := 0
	for bytes != 0 && bytes%1024 == 0 && step < len(suffixes)-1 {
		bytes, step = bytes/1024, step+1
	}
	return strconv.FormatInt(bytes, 10) + suffixes[step]
}
