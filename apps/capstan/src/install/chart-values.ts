// The values of the Helm chart: their defaults, their comments, and the schema by which helm refuses others.
import type { Operator } from '@capstan/reconcile';
import type { Flag } from '@capstan/reconcile/command-line';
import { stringify } from 'yaml';

interface ChartValue {
  readonly comment: string;
  readonly value: unknown;
  readonly schema: object;
}

const TEXT = { type: 'string' };
const YES_OR_NO = { type: 'boolean' };
const OBJECT = { type: 'object' };
const TEXTS = { type: 'object', additionalProperties: TEXT };
const LIST = { type: 'array', items: OBJECT };

/** Values that become a field of every pod where they are set, by the field. */
export const POD_FIELDS = ['imagePullSecrets', 'nodeSelector', 'tolerations', 'affinity', 'priorityClassName'] as const;

export function chartValues(operators: readonly Operator[], version: string): Readonly<Record<string, ChartValue>> {
  const byOperator = <T>(make: (operator: Operator) => T) =>
    Object.fromEntries(operators.map((operator) => [operator.name, make(operator)]));
  return {
    image: { comment: 'The image of Capstan.', value: `capstan:${version}`, schema: { ...TEXT, minLength: 1 } },
    imageRegistry: {
      comment: 'Comes before the image, as in registry.example.com/team; the image of gateways follows.',
      value: '',
      schema: TEXT,
    },
    imagePullSecrets: {
      comment: 'Names of Secrets of the namespace, as in [{name: pull}].',
      value: [],
      schema: {
        type: 'array',
        items: { type: 'object', properties: { name: TEXT }, required: ['name'], additionalProperties: false },
      },
    },
    replicas: {
      comment: 'Of each operator; one writes, the others wait to take over.',
      value: 2,
      schema: { type: 'integer', minimum: 1, maximum: 9 },
    },
    oneProgram: {
      comment:
        'Run all operators in one Deployment: a third of the memory, and one account with the permissions of all.',
      value: false,
      schema: YES_OR_NO,
    },
    admission: {
      comment: 'Install the admission webhook, which refuses objects that operators could only report as invalid.',
      value: false,
      schema: YES_OR_NO,
    },
    serviceMonitor: { comment: 'For the operator of Prometheus.', value: false, schema: YES_OR_NO },
    operators: {
      comment: 'The operators that are installed.',
      value: byOperator(() => true),
      schema: { type: 'object', properties: byOperator(() => YES_OR_NO), additionalProperties: false },
    },
    flags: {
      comment: 'Flags of operators, as `capstan run --help` lists them: {sesame: {envoy-image: IMAGE}}.',
      value: byOperator(() => ({})),
      schema: {
        type: 'object',
        properties: byOperator(({ flags = {} }) => ({
          type: 'object',
          properties: Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flagSchema(flag)])),
          additionalProperties: false,
        })),
        additionalProperties: false,
      },
    },
    resources: {
      comment: 'Of every container; by default they follow from what it runs.',
      value: {},
      schema: OBJECT,
    },
    nodeSelector: { comment: 'Of every pod, as are those that follow.', value: {}, schema: TEXTS },
    tolerations: { comment: '', value: [], schema: LIST },
    affinity: { comment: '', value: {}, schema: OBJECT },
    priorityClassName: { comment: '', value: '', schema: TEXT },
    podAnnotations: { comment: '', value: {}, schema: TEXTS },
    record: {
      comment:
        'A volume into which each operator records everything that it takes in (docs/replay.md), as in {emptyDir: {sizeLimit: 300Mi}};\n# empty: nothing is recorded.',
      value: {},
      schema: OBJECT,
    },
    extraArgs: {
      comment: 'Arguments of every operator, as `capstan run --help` lists them.',
      value: [],
      schema: { type: 'array', items: TEXT },
    },
    extraEnv: { comment: 'Entries of env, volumes and volumeMounts of every operator.', value: [], schema: LIST },
    extraVolumes: { comment: '', value: [], schema: LIST },
    extraVolumeMounts: { comment: '', value: [], schema: LIST },
    podSecurity: {
      comment: 'The level of Pod Security that the chart asks for in a namespace that it creates.',
      value: 'restricted',
      schema: { enum: ['restricted', 'baseline', 'privileged'] },
    },
  };
}

export function valuesYaml(values: Readonly<Record<string, ChartValue>>): string {
  return Object.entries(values)
    .map(([name, { comment, value }]) => `${comment === '' ? '' : `\n# ${comment}\n`}${stringify({ [name]: value })}`)
    .join('')
    .trimStart();
}

/** `global` is Helm's own. */
export function valuesSchema(values: Readonly<Record<string, ChartValue>>): string {
  const properties = Object.fromEntries(Object.entries(values).map(([name, { schema }]) => [name, schema]));
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { ...properties, global: OBJECT },
    additionalProperties: false,
  };
  return `${JSON.stringify(schema, undefined, 2)}\n`;
}

function flagSchema({ type, oneOf, multiple, help }: Flag): object {
  const one = oneOf !== undefined ? { enum: oneOf } : { type: type === 'boolean' ? 'boolean' : ['string', 'integer'] };
  return { description: help, ...(multiple === true ? { type: 'array', items: one } : one) };
}
