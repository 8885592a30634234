import {
  array,
  boolean,
  conditions,
  defineKind,
  integer,
  type JsonObject,
  type KindOf,
  map,
  object,
  optional,
  string,
} from '@capstan/kube';
import { networkPublishing, nodePlacement } from './configuration-spec.ts';
import { crdSchema } from './crd-schema.ts';
import { COMMON } from './group.ts';
import { resources, updateStrategy, volumeMounts, volumes } from './pod-parts.ts';
import { configurationSpec } from './sesame-configuration.ts';

const annotations = (of: string) => map(string(), { optional: true, description: `Annotations of ${of}.` });
const replicas = (of: string) =>
  integer({
    optional: true,
    format: 'int32',
    description: `Pods of ${of}. Without it 2 are created, and an autoscaler may set the count.`,
  });

/** The fields of upstream's resource besides the seed's, for Sesame itself. */
const sesame = object(
  {
    deployment: object(
      {
        replicas: replicas('Sesame'),
        strategy: updateStrategy('Deployment'),
      },
      { optional: true },
    ),
    nodePlacement: nodePlacement(),
    logLevel: string({ optional: true, description: 'info or debug.' }),
    kubernetesLogLevel: integer({ optional: true, format: 'int32', description: '0 to 9.' }),
    resources: resources(),
    podAnnotations: annotations('Sesame’s pods'),
    watchNamespaces: array(string(), {
      optional: true,
      description: 'Namespaces that Sesame watches, at most 42; all by default. Its permissions are then Roles there.',
    }),
    contourCompat: boolean({
      optional: true,
      description:
        'Serves objects of projectcontour.io and the class contour too. Their statuses are left to Contour while it runs.',
    }),
    contourLease: string({
      optional: true,
      description: 'NAMESPACE/NAME of the Lease that Contour holds; projectcontour/leader-elect by default.',
    }),
    disabledFeatures: array(string(), {
      optional: true,
      description: 'grpcroutes, tlsroutes, tcproutes, extensionservices or backendtlspolicies.',
    }),
  },
  { optional: true, description: 'How Sesame itself runs.' },
);

/** The fields of upstream's resource besides the seed's, for Envoy. */
const envoy = object(
  {
    workloadType: string({ optional: true, description: 'DaemonSet (the default) or Deployment.' }),
    deployment: object(
      {
        replicas: replicas('Envoy'),
        strategy: updateStrategy('Deployment'),
      },
      { optional: true },
    ),
    daemonSet: object({ updateStrategy: updateStrategy('DaemonSet') }, { optional: true }),
    networkPublishing: networkPublishing(),
    nodePlacement: nodePlacement(),
    extraVolumes: volumes(),
    extraVolumeMounts: volumeMounts(),
    podAnnotations: annotations('Envoy’s pods'),
    resources: resources(),
    logLevel: string({ optional: true, description: 'trace, debug, info, warn, error, critical or off.' }),
    xdsMode: string({
      optional: true,
      description:
        'How Envoy subscribes: delta-ads (one stream of differences, the default) or sotw (whole states). Default: an Envoy that runs already in sotw changes with the next change of its pods.',
    }),
    baseID: integer({ optional: true, format: 'int32', description: 'Base id of Envoy’s shared memory.' }),
    overloadMaxHeapSize: integer({ optional: true, format: 'int64', description: 'Heap above which it sheds load.' }),
    overloadMaxDownstreamConnections: integer({
      optional: true,
      format: 'int64',
      description: 'Connections above which none is accepted.',
    }),
  },
  { optional: true, description: 'How Envoy runs.' },
);

const spec = object({
  replicas: replicas('Sesame'),
  nodePlacement: nodePlacement(),
  configuration: { ...configurationSpec, presence: 'optional' as const },
  sesame,
  envoy,
  resourceLabels: map(string(), { optional: true, description: 'Labels of every object that is created.' }),
});

/** The seed's misspelling and upstream's names for the same field. */
export const CONFIGURATION_ALIASES = ['confguration', 'runtimeSettings', 'config'] as const;

const configurationAliases = Object.fromEntries(
  CONFIGURATION_ALIASES.map((name) => [
    name,
    { ...configurationSpec.json, nullable: true, description: 'Alias of configuration.' },
  ]),
);

export const SesameDeployment = defineKind({
  ...COMMON,
  kind: 'SesameDeployment',
  plural: 'sesamedeployments',
  shortNames: ['sesamedeploy'],
  description: 'A running Sesame with its Envoy, deployed and kept by the operator.',
  spec: optional({
    ...spec,
    json: withAliases(crdSchema(spec.json)),
  }),
  status: object({
    conditions: conditions(),
    availableSesames: integer({ optional: true, format: 'int32', description: 'Pods of Sesame that are available.' }),
    availableEnvoys: integer({ optional: true, format: 'int32', description: 'Pods of Envoy that are available.' }),
    desiredSesames: integer({ optional: true, format: 'int32', description: 'Desired pods of Sesame.' }),
    desiredEnvoys: integer({ optional: true, format: 'int32', description: 'Desired pods of Envoy.' }),
    replicas: integer({ optional: true, format: 'int32', description: 'Pods of Sesame that exist, for autoscalers.' }),
    selector: string({ optional: true, description: 'Labels of the pods of Sesame, for autoscalers.' }),
  }),
  subresources: {
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  rules: [
    {
      rule: 'self.metadata.name.size() <= 49 && self.metadata.name.matches("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")',
      message:
        'metadata.name must be a DNS label of at most 49 characters, because it is part of the names of Services',
    },
  ],
  normalise: normaliseDeployment,
  printerColumns: [
    { name: 'Available', jsonPath: '.status.conditions[?(@.type=="Available")].status' },
    { name: 'Valid', jsonPath: '.status.conditions[?(@.type=="ConfigurationValid")].status' },
    { name: 'Sesames', jsonPath: '.status.availableSesames', type: 'integer', priority: 1 },
    { name: 'Envoys', jsonPath: '.status.availableEnvoys', type: 'integer', priority: 1 },
  ],
});
export type SesameDeployment = KindOf<typeof SesameDeployment>;
export type SesameDeploymentSpec = NonNullable<SesameDeployment['spec']>;

function withAliases(json: ReturnType<typeof crdSchema>) {
  // `contour` is upstream's name of the field `sesame`.
  const contour = { ...json.properties?.['sesame'], description: 'Alias of sesame.' };
  return { ...json, properties: { ...json.properties, ...configurationAliases, contour } };
}

/** One form for every spelling; the user's object stays as it is. */
function normaliseDeployment(object: JsonObject): JsonObject {
  const { spec } = object;
  if (typeof spec !== 'object' || spec === null) return object;
  const given = spec as JsonObject;
  const moved: JsonObject = { ...given };
  for (const alias of CONFIGURATION_ALIASES) {
    if (given[alias] !== undefined && given[alias] !== null) moved['configuration'] ??= given[alias];
    // The misspelling stays visible, so that it can be reported, and so do unused fields.
    if (alias !== 'confguration' && moved['configuration'] === given[alias]) delete moved[alias];
  }
  if (given['contour'] !== undefined && given['contour'] !== null) moved['sesame'] ??= given['contour'];
  delete moved['contour'];
  for (const name of Object.keys(moved)) if (moved[name] === null) delete moved[name];
  const isSame =
    Object.keys(given).length === Object.keys(moved).length &&
    Object.keys(given).every((key) => given[key] === moved[key]);
  return isSame ? object : { ...object, spec: moved };
}
