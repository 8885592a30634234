// Package conformance is the Gateway API's own conformance suite as a program: go test -c builds it.
package conformance

import (
	"testing"

	"sigs.k8s.io/gateway-api/conformance"
)

func TestConformance(t *testing.T) {
	conformance.RunConformance(t)
}
