// The schemas of subctl's output with -o json and -o yaml. Fields are only ever added.
import { array, boolean, enumOf, integer, map, object, type Schema, string } from '@capstan/kube';
import { CONNECTION_FIELDS, CONNECTION_STATES, endpointFields } from '../kinds/index.ts';

const optional = { optional: true } as const;
const strings = (description?: string) => array(string(), { ...(description !== undefined && { description }) });

const rule = object({
  left: string({ description: 'Selector of clusters; * selects any.' }),
  right: string(),
  driver: string(),
  options: map(string()),
  config: string({ ...optional, description: 'ConfigMap with options of the driver.' }),
  priority: integer(),
});

const candidate = object({
  policy: string({ description: 'With the index of its rule where it has several.' }),
  driver: string(),
  priority: integer(),
  specificity: integer({ description: 'How many labels its selectors name.' }),
  createdAt: string(optional),
  left: string(),
  right: string(),
});

export const REPORT_SCHEMAS = {
  'subctl cable-policy add': object({
    dryRun: boolean(),
    policies: array(object({ name: string(), action: enumOf(['created', 'replaced', 'none']) })),
    changes: array(
      object({
        left: string(),
        right: string(),
        before: string({ nullable: true, description: 'Null when the two were not connected.' }),
        after: string({ nullable: true }),
        reason: string({ ...optional, description: 'Why the two would not be connected.' }),
      }),
      { description: 'The pairs that change their driver.' },
    ),
    warnings: strings(),
  }),
  'subctl cable-policy list': array(
    object({
      name: string(),
      origin: string({ description: 'The cluster where it was created.' }),
      status: string({ description: 'Accepted, Invalid, or the reason of its condition Accepted.' }),
      problems: strings(),
      pairs: integer({ description: 'Pairs of clusters that it decides.' }),
      rules: array(rule),
    }),
  ),
  'subctl cable-policy explain': object({
    left: string(),
    right: string(),
    driver: string({ nullable: true, description: 'Null when the two must not be connected.' }),
    options: map(string()),
    policy: string(),
    rule: integer({ description: 'Index of the rule in the policy.' }),
    reason: enumOf([
      'Policy',
      'DefaultPolicy',
      'Fallback',
      'Ambiguous',
      'DriverNotAvailable',
      'NotEncrypted',
      'OptionsDiffer',
    ]),
    ambiguous: boolean(),
    message: string(),
    candidates: array(candidate, { description: 'The rules that match, the winner first.' }),
  }),
  'subctl show connections': array(object({ gateway: string(), ...CONNECTION_FIELDS })),
  'subctl show endpoints': array(object({ ...endpointFields(), type: enumOf(['local', 'remote']) })),
  'subctl show gateways': array(
    object({ node: string(), haStatus: enumOf(['active', 'passive', '']), summary: string() }),
  ),
  'subctl show cables': object({
    clusters: array(object({ id: string(), labels: map(string()) })),
    cables: array(
      object({
        left: string(),
        right: string(),
        driver: string({ nullable: true, description: 'Null when the two must not be connected.' }),
        policy: string({
          description: 'The policy that decides the pair, with the index of its rule where it has several.',
        }),
        options: map(string()),
        state: enumOf([...CONNECTION_STATES, 'planned'], { description: 'planned: this cluster is at neither end.' }),
      }),
    ),
  }),
  'subctl diagnose cables': object({
    healthy: boolean({ description: 'There is no problem.' }),
    problems: strings(),
    warnings: strings(),
  }),
} as const satisfies Record<string, Schema>;
