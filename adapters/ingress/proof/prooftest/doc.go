// Package prooftest has what the proof is proved with: a terminator that is sound, ones that leak in a way that was seen
// elsewhere, and a small control plane behind them. None of it is for use.
package prooftest
