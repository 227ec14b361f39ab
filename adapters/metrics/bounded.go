package metrics

import "sync"

// most is how many values a label may take. There are about 150 slugs and 60 operations.
const most = 500

// bounded lets a label take only so many values. What comes later is called "other".
type bounded struct {
	mu   sync.RWMutex
	seen map[string]map[string]struct{}
}

func (b *bounded) keep(label, value string) string {
	b.mu.RLock()
	_, known := b.seen[label][value]
	b.mu.RUnlock()
	if known {
		return value
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen == nil {
		b.seen = map[string]map[string]struct{}{}
	}
	values := b.seen[label]
	if values == nil {
		values = map[string]struct{}{}
		b.seen[label] = values
	}
	if _, known := values[value]; !known && (len(values) >= most || !tame(value)) {
		return "other"
	}
	values[value] = struct{}{}
	return value
}

// tame says whether a value looks like a name of the program's own.
func tame(value string) bool {
	if value == "" || len(value) > 64 {
		return false
	}
	for i := range len(value) {
		c := value[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
