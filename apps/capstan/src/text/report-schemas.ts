// The schemas of the output of commands with -o json and -o yaml: docs/cli-output.schema.json is built from them, and a test checks the
// output of the commands against them. Fields are only ever added.
import { REPORT_SCHEMAS as CROSSPLANE } from '@capstan/crossplane/report-schemas';
import { REPORT_SCHEMAS as GIMBAL } from '@capstan/gimbal/report-schemas';
import {
  anyObject,
  anyValue,
  array,
  boolean,
  enumOf,
  integer,
  type JsonSchema,
  object,
  type Schema,
  string,
} from '@capstan/kube';
import { REPORT_SCHEMAS as SESAME } from '@capstan/sesame/report-schemas';
import { REPORT_SCHEMAS as SUBMARINER } from '@capstan/submariner/report-schemas';

const optional = { optional: true } as const;
const strings = (description: string) => array(string(), { description });

const health = {
  state: enumOf(['NotReady', 'Pending', 'Paused', 'Deleting', 'Error', 'Stopped', 'Absent']),
  reason: string({ description: 'Type and reason of the condition that reports the problem.' }),
  message: string(),
  since: string({ ...optional, description: 'When that condition last changed; RFC 3339.' }),
};

const status = object({
  healthy: boolean({ description: 'No problem, and every kind could be read.' }),
  problems: array(
    object({
      kind: string({ description: 'Kind.group, or Operator for an operator that does not run.' }),
      object: string({ description: 'namespace/name, or name.' }),
      ...health,
      dependsOn: strings('Unhealthy objects that it depends on, as Kind namespace/name; none for a root cause.'),
      affects: strings('Unhealthy objects that depend on it, directly or through others.'),
    }),
    { description: 'Root causes first.' },
  ),
  operators: array(
    object({
      operator: string(),
      holder: string({ ...optional, description: 'The instance that writes; absent when there is none.' }),
      isKnown: boolean({ description: 'False when the Lease may not be read.' }),
      summary: string(),
    }),
  ),
  kinds: array(
    object({
      operator: string(),
      kind: string({ description: 'Kind.group' }),
      objects: integer({ ...optional, description: 'Absent when the kind cannot be read.' }),
      problem: string({ ...optional, description: 'Why it cannot be read.' }),
      notReady: array(object({ object: string(), ...health })),
    }),
  ),
  simulated: object(
    {
      pods: strings('Pods that are only simulated, as namespace/name.'),
      others: integer({ description: 'Pods of the same nodes that run as processes, or wait.' }),
    },
    { ...optional, description: 'Only of an embedded cluster.' },
  ),
});

const valueChange = object({
  path: string(),
  before: anyValue({ ...optional, nullable: true, description: 'Absent when the field is added.' }),
  after: anyValue({ ...optional, nullable: true, description: 'Absent when the field is removed.' }),
});

const changes = {
  paths: strings('The fields that change; none for Secrets and for objects that are created.'),
  changes: array(valueChange),
};

const write = {
  level: integer({ description: 'From 1: level 2 follows from what level 1 writes.' }),
  by: string({ description: 'operator.reconciler' }),
  for: string({ description: 'What the reconciler works on, as Kind namespace/name.' }),
  verb: enumOf([
    'apply',
    'create',
    'merge',
    'mint',
    'hold',
    'share',
    'withdraw',
    'patch',
    'delete',
    'status',
    'finalizer',
  ]),
  object: string({ description: 'Kind namespace/name' }),
  ...changes,
  creates: boolean({ ...optional, description: 'The object does not exist yet.' }),
  disturbs: string({ ...optional, description: 'How it disturbs what runs: rolls pods.' }),
  passing: boolean({ ...optional, description: 'The status ends as it began, and may not be written at all.' }),
  foreign: boolean({ ...optional, description: 'The object was there before, and no operator has written to it.' }),
};

/** The effects, of a plan and of a rehearsal. */
const effects = {
  writes: array(object(write)),
  later: array(object({ ...write, until: string({ description: 'When, as in "the new one is ready".' }) }), {
    description: 'What follows once something is so, such as pods that are ready.',
  }),
  deliveries: array(
    object({
      by: string({ description: 'operator.sink' }),
      key: string({ description: 'What it is, in the words of the sink.' }),
      change: enumOf(['added', 'changed', 'removed']),
      changes: array(valueChange, { ...optional, description: 'The values that change, where the sink shows them.' }),
      disturbs: string(optional),
    }),
    { description: 'What would be delivered outside the cluster.' },
  ),
  problems: array(
    object({
      by: string({ description: 'operator.reconciler' }),
      object: string({ description: 'Kind namespace/name' }),
      message: string({
        description: 'A condition that becomes False, one of its errors or warnings, or the note of an Event.',
      }),
    }),
    { description: 'What would be reported on objects and is not reported now.' },
  ),
  unknowns: strings('What cannot be known beforehand.'),
  refusals: strings(
    'What the server would refuse of the operators, as Kind namespace/name by operator.reconciler: message.',
  ),
  notes: strings('What had to be assumed.'),
  mayFollow: array(string()),
  undecided: array(string()),
  due: array(
    object(
      { object: string(), at: string({ description: 'The instant, in RFC 3339.' }) },
      { required: ['object', 'at'] },
    ),
    { description: 'Objects whose work is due after the time that the plan covers.' },
  ),
  levels: integer(),
};

const plan = object({
  given: array(
    object({
      verb: enumOf(['create', 'change', 'delete', 'none']),
      object: string({ description: 'Kind namespace/name' }),
      tool: string({ description: 'The command that is assumed to carry it out, as in kubectl apply --server-side.' }),
      ...changes,
    }),
    { description: 'What the manifests themselves change.' },
  ),
  ...effects,
  outcome: object(
    {
      asPredicted: boolean(),
      differences: strings('What happened and was not predicted, or was predicted and did not happen.'),
      notKnown: strings('Differences of objects that the plan lists as not known.'),
    },
    { ...optional, description: 'With --apply alone.' },
  ),
});

const rehearsal = {
  ...effects,
  unread: strings('Objects and kinds that could not be read.'),
  sinks: array(
    object({
      sink: string({ description: 'operator.sink' }),
      messages: integer(),
      keys: strings('The keys of the messages.'),
    }),
    { description: 'Sinks whose messages are not compared.' },
  ),
};

const upgrade = object({
  from: string({ description: 'The installed version.' }),
  to: string(),
  operators: array(string()),
  installation: array(
    object({
      object: string({ description: 'Kind namespace/name' }),
      verb: enumOf(['create', 'change']),
      changes: array(valueChange),
      rights: object({ added: array(string()), removed: array(string()) }, { ...optional, description: 'Of roles.' }),
      disturbs: string(optional),
    }),
    { description: 'Objects of the installation that differ in more than the version.' },
  ),
  rolled: strings('Deployments of Capstan whose pods would be replaced.'),
  schemas: array(
    object({
      kind: string(),
      changes: strings('How the new schema accepts less.'),
      invalid: strings('Stored objects that it would refuse, with the first error.'),
      unread: string({ ...optional, description: 'Why the stored objects could not be checked.' }),
    }),
  ),
  differs: boolean({ description: 'More than the programs themselves would change.' }),
  ...rehearsal,
});

const cause = {
  at: string({ description: 'RFC 3339.' }),
  by: string({ description: 'operator.reconciler' }),
  for: string({ description: 'Kind.group namespace/name' }),
  changes: array(
    object({
      object: string({ description: 'Kind.group namespace/name' }),
      paths: strings('The fields that changed.'),
      from: string({ description: 'A short digest, absent or unknown.' }),
      to: string(),
      via: strings('From the changed object to the plan, nearest first.'),
    }),
  ),
  more: integer({ ...optional, description: 'How many more changes there were.' }),
  inputs: anyObject({ ...optional, description: 'By kind: keys and digests of all inputs, for the next process.' }),
  lists: string({ ...optional, description: 'Digests of the lists that were read, for the next process.' }),
  rest: string({ ...optional, description: 'Digests of the names of children that were still to be written.' }),
};

const why = object({
  object: string({ description: 'Kind namespace/name' }),
  belongsTo: strings('Its owners, as far as it took to find a cause.'),
  cause: object(cause, { nullable: true, description: 'Null when Capstan left no cause.' }),
  rolled: object(cause, {
    ...optional,
    description: 'What its pods were last rolled for, when that was an earlier change.',
  }),
  template: object({ from: string(), to: string() }, { ...optional, description: 'Digests of its pod template.' }),
  owner: string(optional),
  managers: array(object({ name: string(), at: string(optional) })),
});

const check = object({
  passed: boolean({ description: 'No problem; what is not known does not count.' }),
  findings: array(
    object({
      check: string({ description: 'connection, versions, definitions, installation, skew, leases, rights, …' }),
      state: enumOf(['ok', 'warning', 'problem', 'unknown']),
      message: string(),
      remedy: string({ ...optional, description: 'What to do about it.' }),
    }),
  ),
});

const version = object({ capstan: string(), node: string() });

const node = {
  kind: string({ description: 'Kind.group' }),
  object: string({ description: 'namespace/name, or name.' }),
  state: enumOf(['Ready', 'NotReady', 'Pending', 'Paused', 'Deleting', 'Error', 'Stopped', 'Missing', 'Present'], {
    description: 'Missing: named by another object, and not there. Present: a kind without health.',
  }),
  message: string(),
};
const branches = (description: string) =>
  array(object({ depth: integer({ description: '0 next to the object, 1 next to the one before it, …' }), ...node }), {
    description,
  });

const tree = object({
  healthy: boolean({ description: 'The object is healthy, and everything that it depends on or owns.' }),
  object: object(node),
  belongsTo: branches('Its owners.'),
  dependsOn: branches('Objects that it names, and those that they name.'),
  neededBy: branches('Objects that name it, and those that name them.'),
  owns: branches('Objects that were created for it.'),
  unread: strings('Kinds that could not be read, as Kind.group.'),
});

const takeover = object({
  original: string(),
  operator: string(),
  programs: strings('Workloads of the original, as Deployment namespace/name.'),
  unchanged: strings('Existing objects that become ours and keep their content.'),
  changed: array(object(write), { description: 'Writes to existing objects that change, in their order.' }),
  leftAlone: array(object({ kind: string(), objects: array(string()) }), {
    description: 'Resources of users: at most their status is written.',
  }),
  takenLater: strings('Objects that programs of the operator take over once they run.'),
  withoutCounterpart: strings('Objects that the original created and the operator does not use.'),
  created: array(string()),
  order: strings('The steps of the switch.'),
  ...rehearsal,
});

export const REPORT_SCHEMAS = {
  status,
  plan,
  'plan upgrade': upgrade,
  'plan takeover': takeover,
  why,
  tree,
  check,
  version,
} as const satisfies Record<string, Schema>;

/** The document in docs/: one definition for each command. Those of Capstan itself have no program before their name. */
export function reportSchemaDocument(): object {
  const schemas: Record<string, Schema> = { ...REPORT_SCHEMAS, ...CROSSPLANE, ...GIMBAL, ...SESAME, ...SUBMARINER };
  const definitions = Object.entries(schemas).map(([name, { json }]) => [name, json] as [string, JsonSchema]);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'What commands print with -o json and -o yaml',
    description: 'One definition for each command. Generated from the report-schemas.ts of the programs.',
    $defs: Object.fromEntries(definitions),
  };
}
