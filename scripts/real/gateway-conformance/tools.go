//go:build tools

// Keeps the backend's modules in go.sum.
package conformance

import _ "sigs.k8s.io/gateway-api/conformance/echo-basic"
