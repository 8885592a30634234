import {
  array,
  conditions,
  defineKind,
  integer,
  type KindOf,
  object,
  optional,
  type Schema,
  schemaOf,
  string,
  time,
} from '@capstan/kube';
import { type ConfigurationSpec, configurationSchema } from './configuration-spec.ts';
import { crdSchema } from './crd-schema.ts';
import { COMMON } from './group.ts';

/** A condition with the single errors and warnings behind it. */
const detail = () =>
  array(
    object({
      type: string({ description: 'What kind of problem it is.' }),
      status: string({ description: 'True: the problem is there.' }),
      reason: string({ description: 'Why, in one word for programs.' }),
      message: string({ description: 'The field, what is wrong with it, and what to do.' }),
    }),
    { optional: true },
  );

/** Conditions as every kind has them, with `errors` and `warnings`. */
function detailedConditions() {
  const { json } = conditions({
    description: 'Valid: the configuration can be used. Applied: it is in force everywhere.',
  });
  const item = json.items ?? {};
  const items = { ...item, properties: { ...item.properties, errors: detail().json, warnings: detail().json } };
  return optional(schemaOf<DetailedCondition[]>({ ...json, items }));
}

export interface SubCondition {
  type: string;
  status: string;
  reason: string;
  message: string;
}

export interface DetailedCondition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  observedGeneration?: number;
  lastTransitionTime: string;
  reason: string;
  message: string;
  errors?: SubCondition[];
  warnings?: SubCondition[];
}

export const configurationSpec: Schema<ConfigurationSpec, ConfigurationSpec, 'required'> = schemaOf<ConfigurationSpec>(
  crdSchema(configurationSchema.json),
);

export const SesameConfiguration = defineKind({
  ...COMMON,
  kind: 'SesameConfiguration',
  plural: 'sesameconfigurations',
  shortNames: ['sesameconfig'],
  description:
    'The configuration of Sesame. An edit takes effect in the running Sesame, or the status gives the reason why not.',
  spec: optional(configurationSpec),
  status: object({
    conditions: detailedConditions(),
    instances: array(
      object({
        name: string({ description: 'The pod.' }),
        generation: integer({ optional: true, format: 'int64', description: 'The generation in force there.' }),
        source: string({ optional: true, description: 'resource, defaults or file.' }),
        state: string({ optional: true, description: 'Running, Stopped or Restarting.' }),
        nacks: integer({ optional: true, format: 'int32', description: 'Resources that an Envoy refused.' }),
        renewTime: time({ optional: true, description: 'When its Lease was last seen to hold.' }),
      }),
      { optional: true, listMapKeys: ['name'], description: 'The replicas that use this configuration.' },
    ),
  }),
  printerColumns: [
    { name: 'Valid', jsonPath: '.status.conditions[?(@.type=="Valid")].status' },
    { name: 'Applied', jsonPath: '.status.conditions[?(@.type=="Applied")].status' },
    { name: 'Age', jsonPath: '.metadata.creationTimestamp', type: 'date' },
  ],
});
export type SesameConfiguration = KindOf<typeof SesameConfiguration>;
