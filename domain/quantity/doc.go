// Package quantity reads and writes Kubernetes quantities such as "500m" and "8Gi", in the two units that Berth counts:
// thousandths of a CPU, and bytes. It reads exactly what Kubernetes reads and rounds up as Kubernetes does, except that
// what Kubernetes would cap, or count below zero, is refused.
package quantity
