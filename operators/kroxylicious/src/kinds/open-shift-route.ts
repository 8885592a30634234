import { externalKind, type KubeObject } from '@capstan/kube';

/** A Route of OpenShift, as far as it is created and looked at here. Its API need not be there. */
export interface OpenShiftRoute extends KubeObject {
  spec?: {
    /** Of the host; what follows it is the router's. */
    subdomain?: string;
    port?: { targetPort: number };
    tls?: { termination: string };
    to?: { kind: string; name: string };
  };
  status?: { ingress?: RouteIngress[] };
}

/** What one router built from a Route. */
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

/** Only there on OpenShift; its objects are never looked at. */
export const SecurityContextConstraints = externalKind({
  group: 'security.openshift.io',
  version: 'v1',
  kind: 'SecurityContextConstraints',
  plural: 'securitycontextconstraints',
  scope: 'Cluster',
});
