// The selected end-to-end tests of Kubernetes, by file, and the conformance tests of features that the embedded cluster does not have.

/** Below test/e2e, in parts that take about the same time: each part runs on a cluster of its own, beside the others. */
export const PARTS: readonly (readonly string[])[] = [
  [
    'apimachinery/aggregated_discovery.go',
    'apimachinery/chunking.go',
    'apimachinery/crd_publish_openapi.go',
    'apimachinery/crd_selectable_fields.go',
    'apimachinery/crd_watch.go',
    'apimachinery/custom_resource_definition.go',
    'apimachinery/discovery.go',
    'apimachinery/field_validation.go',
  ],
  [
    'apimachinery/garbage_collector.go',
    'apimachinery/namespace.go',
    'apimachinery/server_version.go',
    'apimachinery/table_conversion.go',
    'apimachinery/validatingadmissionpolicy.go',
    'apimachinery/watch.go',
    'apps/controller_revision.go',
    'apps/daemon_set.go',
  ],
  ['apps/deployment.go', 'apps/disruption.go', 'apps/rc.go', 'apps/replica_set.go'],
  [
    'auth/service_accounts.go',
    'auth/subjectreviews.go',
    'common/node/configmap.go',
    'common/node/lease.go',
    'common/node/pods.go',
    'common/node/podtemplates.go',
    'common/node/runtimeclass.go',
    'common/node/secrets.go',
    'network/endpoints.go',
    'network/endpointslice.go',
    'network/endpointslicemirroring.go',
    'network/ingress.go',
    'network/ingressclass.go',
    'network/service.go',
    'node/node_lifecycle.go',
    'node/pods.go',
  ],
];

/** Conformance tests of these files that are not run, with the features that they need. */
export const NOT_SERVED: readonly { readonly name: RegExp; readonly needs: string }[] = [
  {
    name: /aggregated discovery endpoint Accept headers|aggregated discovery interface|resource within each APIGroup/,
    needs: 'APIService',
  },
  { name: /exceeded quota/, needs: 'ResourceQuota' },
  { name: /has been compacted away/, needs: 'a history that ends by time; here it ends by size' },
  { name: /serve a basic image on each replica/, needs: 'a container' },
  {
    name: /OIDC discovery|should mount an API token|should mount projected service account token/,
    needs: 'a container',
  },
  { name: /works for CRD with validation schema/, needs: "descriptions of metadata in Kubernetes' own words" },
  {
    name: /in multiple EndpointSlices|session affinity|change the type from|functioning NodePort|different protocols|endpoints? from pods/,
    needs: 'exec, and a container',
  },
  {
    name: /list and watch custom resources matching the field selector/,
    needs: 'a container: its definition is converted by a webhook that runs in a pod',
  },
  { name: /mirror a custom Endpoints/, needs: 'the controller that mirrors Endpoints into slices' },
  { name: /find a service from listing all namespaces/, needs: 'the Service default/kubernetes' },
  { name: /over websockets/, needs: 'exec, and a container' },
  {
    name: /consumable via (the )?environment|consumable as environment|env vars|environment variables for services/,
    needs: 'a container',
  },
];

/** Images that are not in any registry: their tests see that a rollout stops. */
export const ABSENT_IMAGES = /^(webserver:404|foo:non-existent)$/;
