import { externalKind, type KubeObject } from '@capstan/kube';

/** A Route of OpenShift, with the fields that the operator writes and reads. Its API may be absent. */
export interface OpenShiftRoute extends KubeObject {
  spec?: {
    /** The first part of the host. The router appends its domain. */
    subdomain?: string;
    port?: { targetPort: number };
    tls?: { termination: string };
    to?: { kind: string; name: string };
  };
  status?: { ingress?: RouteIngress[] };
}

/** The state of a Route in one router. */
export interface RouteIngress {
  host?: string;
  conditions?: { type: string; status: string; reason?: string; message?: string }[];
}

export const OpenShiftRoute = externalKind<OpenShiftRoute>({
  group: 'route.openshift.io',
  version: 'v1',
  kind: 'Route',
  plural: 'routes',
  scope: 'Namespaced',
  hasStatus: true,
});

/** A kind that exists only on OpenShift. Its objects are never read. */
export const SecurityContextConstraints = externalKind({
  group: 'security.openshift.io',
  version: 'v1',
  kind: 'SecurityContextConstraints',
  plural: 'securitycontextconstraints',
  scope: 'Cluster',
});
