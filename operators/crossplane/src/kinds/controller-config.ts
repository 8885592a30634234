import {
  type Affinity,
  array,
  type Container,
  defineKind,
  enumOf,
  integer,
  type KindOf,
  localReference,
  map,
  object,
  objectName,
  optional,
  type PodSpec,
  schemaOf,
  string,
  templateMetadata,
} from '@capstan/kube';
import { GROUP } from './group.ts';

/** Parts of pods are kept as they are: the server checks the Deployment that they become part of. */
const open = <T>(description?: string) =>
  optional(
    schemaOf<T>({
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      ...(description === undefined ? {} : { description }),
    }),
  );
const openList = <T extends unknown[]>() =>
  optional(schemaOf<T>({ type: 'array', items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }));

export const ControllerConfig = defineKind({
  group: GROUP,
  version: 'v1alpha1',
  kind: 'ControllerConfig',
  scope: 'Cluster',
  description:
    'Deprecated: use a DeploymentRuntimeConfig. Honoured only with --enable-runtime-config=false; its own labels and annotations go to the Deployment and the ServiceAccount.',
  deprecated: true,
  deprecationWarning:
    'pkg.crossplane.io/v1alpha1 ControllerConfig is deprecated; use pkg.crossplane.io/v1beta1 DeploymentRuntimeConfig. `crossplane convert deployment-runtime` converts it.',
  spec: optional(
    object({
      metadata: templateMetadata({ optional: true, description: 'Labels and annotations of the pods.' }),
      replicas: integer({ optional: true, format: 'int32', minimum: 0 }),
      image: string({ optional: true }),
      imagePullPolicy: enumOf(['Always', 'IfNotPresent', 'Never'], { optional: true }),
      imagePullSecrets: array(localReference(), { optional: true }),
      nodeSelector: map(string(), { optional: true }),
      serviceAccountName: objectName({ optional: true }),
      nodeName: string({ optional: true }),
      podSecurityContext: open<NonNullable<PodSpec['securityContext']>>(),
      securityContext: open<NonNullable<Container['securityContext']>>(),
      affinity: open<Affinity>(),
      tolerations: openList<NonNullable<PodSpec['tolerations']>>(),
      priorityClassName: string({ optional: true }),
      runtimeClassName: string({ optional: true }),
      resources: open<NonNullable<Container['resources']>>(),
      args: array(string(), { optional: true }),
      envFrom: openList<NonNullable<Container['envFrom']>>(),
      env: openList<NonNullable<Container['env']>>(),
      ports: openList<NonNullable<Container['ports']>>(),
      volumes: openList<NonNullable<PodSpec['volumes']>>(),
      volumeMounts: openList<NonNullable<Container['volumeMounts']>>(),
    }),
  ),
});
export type ControllerConfig = KindOf<typeof ControllerConfig>;
