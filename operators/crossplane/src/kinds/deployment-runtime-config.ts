import {
  anyObject,
  conditions,
  type DeploymentSpec,
  defineKind,
  type KindOf,
  map,
  object,
  objectName,
  optional,
  schemaOf,
  string,
} from '@capstan/kube';
import { GROUP } from './group.ts';

/** A DeploymentSpec of which everything may be left out, misplaced parts included. */
export type DeploymentSpecTemplate = Partial<Omit<DeploymentSpec, 'template'>> & {
  template?: Partial<DeploymentSpec['template']> & Record<string, unknown>;
};

const templateMetadata = () =>
  object(
    {
      name: objectName({ optional: true, description: 'By default that of the revision.' }),
      // Stored rather than pruned, so that the status can warn about it.
      namespace: string({
        optional: true,
        description: 'Has no effect: the objects of a package are in the namespace of Crossplane.',
      }),
      labels: map(string(), { optional: true }),
      annotations: map(string(), { optional: true }),
    },
    { optional: true },
  );
const metadataOnly = (description: string) => object({ metadata: templateMetadata() }, { optional: true, description });

// The misplaced fields of the seed's own example (serviceTemplate inside deploymentTemplate, a pod spec directly under template) must not
// be pruned by the server, or they would be lost silently. They are kept here and hoisted, with a warning, when the template is rendered.
// Neither selector nor containers is required: a template names only the differences.
const spec = object(
  {
    deploymentTemplate: object(
      {
        metadata: templateMetadata(),
        spec: optional(
          schemaOf<DeploymentSpecTemplate>({
            type: 'object',
            'x-kubernetes-preserve-unknown-fields': true,
            description: 'A Deployment’s spec; the container that runs the package is named package-runtime.',
            properties: {
              replicas: { type: 'integer', format: 'int32', minimum: 0 },
              template: {
                type: 'object',
                'x-kubernetes-preserve-unknown-fields': true,
                properties: {
                  metadata: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                  spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
                },
              },
            },
          }),
        ),
        serviceTemplate: anyObject({ optional: true, description: 'Misplaced: write it beside deploymentTemplate.' }),
        serviceAccountTemplate: anyObject({
          optional: true,
          description: 'Misplaced: write it beside deploymentTemplate.',
        }),
      },
      { optional: true, description: 'Laid under what the package needs; see the documentation for the order.' },
    ),
    serviceTemplate: metadataOnly('The Service of the package.'),
    serviceAccountTemplate: metadataOnly('The ServiceAccount that the package runs as.'),
  },
  { optional: true },
);

export const DeploymentRuntimeConfig = defineKind({
  group: GROUP,
  version: 'v1beta1',
  kind: 'DeploymentRuntimeConfig',
  scope: 'Cluster',
  categories: ['crossplane'],
  description: 'How packages are run as Deployments. The one named default is for packages that name none.',
  versions: [{ name: 'v1' }, { name: 'v1alpha1' }],
  spec,
  status: object({
    conditions: conditions({ description: 'Valid: only there while something is wrong or misplaced.' }),
  }),
});
export type DeploymentRuntimeConfig = KindOf<typeof DeploymentRuntimeConfig>;
export type DeploymentRuntimeConfigSpec = NonNullable<DeploymentRuntimeConfig['spec']>;
