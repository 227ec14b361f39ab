package storetest

import (
	"hash/fnv"
	"iter"
)

// tree is an ordered map that never changes: put and remove return another one and share what they can (a treap), so
// that a snapshot costs nothing. The zero tree is empty.
type tree[V any] struct{ root *leaf[V] }

type leaf[V any] struct {
	key         string
	weight      uint64 // of the key, scattered: the heap order that keeps the tree flat
	value       V
	left, right *leaf[V]
}

func (t tree[V]) get(key string) (value V, found bool) {
	for n := t.root; n != nil; {
		switch {
		case key < n.key:
			n = n.left
		case key > n.key:
			n = n.right
		default:
			return n.value, true
		}
	}
	return value, false
}

func (t tree[V]) has(key string) bool {
	_, found := t.get(key)
	return found
}

func (t tree[V]) put(key string, value V) tree[V] {
	h := fnv.New64a()
	h.Write([]byte(key))
	return tree[V]{t.root.put(&leaf[V]{key: key, weight: h.Sum64(), value: value})}
}

// put returns a tree whose root is new, so that a rotation may write to it.
func (n *leaf[V]) put(add *leaf[V]) *leaf[V] {
	if n == nil {
		return add
	}
	c := *n
	switch {
	case add.key < n.key:
		l := n.left.put(add)
		c.left = l
		if l.weight > c.weight {
			c.left, l.right = l.right, &c
			return l
		}
	case add.key > n.key:
		r := n.right.put(add)
		c.right = r
		if r.weight > c.weight {
			c.right, r.left = r.left, &c
			return r
		}
	default:
		c.value = add.value
	}
	return &c
}

func (t tree[V]) remove(key string) tree[V] {
	if !t.has(key) {
		return t
	}
	return tree[V]{t.root.remove(key)}
}

func (n *leaf[V]) remove(key string) *leaf[V] {
	c := *n
	switch {
	case key < n.key:
		c.left = n.left.remove(key)
	case key > n.key:
		c.right = n.right.remove(key)
	default:
		return join(n.left, n.right)
	}
	return &c
}

// join makes one tree of two, the first of which is all below the second.
func join[V any](l, r *leaf[V]) *leaf[V] {
	if l == nil {
		return r
	}
	if r == nil {
		return l
	}
	if l.weight > r.weight {
		c := *l
		c.right = join(l.right, r)
		return &c
	}
	c := *r
	c.left = join(l, r.left)
	return &c
}

// above yields what has a key above after, in order.
func (t tree[V]) above(after string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { t.root.above(after, yield) }
}

func (n *leaf[V]) above(after string, yield func(string, V) bool) bool {
	if n == nil {
		return true
	}
	if n.key > after && (!n.left.above(after, yield) || !yield(n.key, n.value)) {
		return false
	}
	return n.right.above(after, yield)
}

// below yields what has a key below before, from the highest down; everything where before is empty.
func (t tree[V]) below(before string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) { t.root.below(before, yield) }
}

func (n *leaf[V]) below(before string, yield func(string, V) bool) bool {
	if n == nil {
		return true
	}
	if (before == "" || n.key < before) && (!n.right.below(before, yield) || !yield(n.key, n.value)) {
		return false
	}
	return n.left.below(before, yield)
}

// last returns the value of the highest key.
func (t tree[V]) last() (value V, found bool) {
	for n := t.root; n != nil; n = n.right {
		value, found = n.value, true
	}
	return value, found
}
