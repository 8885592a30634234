// The status of the SesameConfiguration in use: whether it is valid, and whether every replica has it in force. Written by the leader
// alone, from the report of each replica in its Lease. The finalizer holds a deletion until no replica uses the configuration any more.
import { Lease } from '@capstan/kube';
import {
  type ConditionInput,
  conditionType,
  type Derived,
  type EventInput,
  plan,
  type Reader,
  type Reconciler,
  reading,
  reconciler,
  released,
} from '@capstan/reconcile';
import { INSTANCE_LABEL, type Instance, instanceOf } from '../configuration/instance-record.ts';
import { type Problem, problemText } from '../configuration/problem.ts';
import { CONFIGURATION_FINALIZER } from '../deployment/finalizer.ts';
import { SesameConfiguration, type SubCondition } from '../kinds/index.ts';
import type { InForce, Version } from '../program/in-force.ts';

const valid = conditionType<'Valid' | 'ErrorPresent'>('Valid');
const applied = conditionType<
  'Applied' | 'Waiting' | 'Restarting' | 'InvalidConfiguration' | 'NoInstances' | 'Failed' | 'UsingDefaults'
>('Applied');

export interface ConfigurationReconcilerOptions {
  readonly namespace: string;
  /** The object in use. */
  readonly name: string;
  readonly inForce: Derived<InForce>;
  /** Leave the finalizers of others as they are: for a plan, in which no new instance reports. Default false. */
  readonly leavesOthers?: boolean;
}

export function createSesameConfigurationReconciler({
  namespace,
  name,
  inForce,
  leavesOthers = false,
}: ConfigurationReconcilerOptions): Reconciler {
  const isInUse = ({ metadata }: SesameConfiguration) => metadata.name === name && metadata.namespace === namespace;
  return reconciler<SesameConfiguration>({
    name: 'sesame-configuration',
    resource: SesameConfiguration,
    reads: [reading(Lease, 'inNamespace'), reading(SesameConfiguration, 'inNamespace', { optional: true })],
    finalizer: CONFIGURATION_FINALIZER,
    reconcile({ object, read }) {
      if (!isInUse(object)) {
        const isOthers = leavesOthers || usersOf(read, object).length > 0;
        return plan({ held: isHeld(object) && isOthers, prune: false });
      }
      const { errors: ofSpec, warnings } = read.derived(inForce, '', problemsOf);
      const instances = liveInstances(read, namespace, name);
      const errors = [...ofSpec, ...distinct(instances.flatMap(({ record }) => record.errors ?? []))];
      const version = { uid: object.metadata.uid ?? '', generation: object.metadata.generation ?? 0 };
      const nacks = nackWarnings(instances);
      return plan({
        held: true,
        conditions: [
          validCondition(errors, [...warnings, ...referenceWarnings(instances)], nacks),
          appliedCondition(ofSpec, instances, version),
        ],
        status: { instances: instances.map(statusOf) },
        events: errors
          .slice(0, MAX_EVENTS)
          .map(
            (problem): EventInput => ({ type: 'Warning', reason: 'InvalidConfiguration', note: problemText(problem) }),
          ),
      });
    },
    release({ object, read }) {
      const using = usersOf(read, object);
      if (using.length === 0) return released();
      if (!isInUse(object)) return plan({ held: true, prune: false });
      const who = using.map((instance) => instance.name).join(', ');
      return plan({
        held: true,
        conditions: [applied.isFalse('UsingDefaults', `waiting until defaults are in force in ${who}`)],
      });
    },
  });
}

/** Instances that have it in force: of another Sesame in the same namespace too, whose finalizer it is then. */
function usersOf(read: Reader, { metadata }: SesameConfiguration): readonly Instance[] {
  const { namespace = '', name = '', uid = '' } = metadata;
  return liveInstances(read, namespace, name).filter(({ record }) => record.version?.uid === uid);
}

function isHeld({ metadata }: SesameConfiguration): boolean {
  return metadata.finalizers?.includes(CONFIGURATION_FINALIZER) ?? false;
}

const MAX_EVENTS = 5;
const problemsOf = ({ errors, warnings }: InForce) => ({ errors, warnings });

/** Replicas whose Lease has not expired, by name. */
function liveInstances(read: Reader, namespace: string, configuration: string): readonly Instance[] {
  return read
    .list(Lease, { namespace, labels: INSTANCE_LABEL }, instanceOf)
    .filter((instance) => instance !== undefined)
    .filter(({ record, expiresAt }) => record.configuration === configuration && !read.reached(expiresAt));
}

const statusOf = ({ name, record }: Instance) => ({
  name,
  state: record.state,
  source: record.source,
  ...(record.version && { generation: record.version.generation }),
  ...(record.nacks.length > 0 && { nacks: record.nacks.length }),
});

/** A condition holds 32,768 characters. */
const MAX_MESSAGE = 32_760;

function validCondition(
  errors: readonly Problem[],
  warnings: readonly Problem[],
  nacks: readonly SubCondition[],
): ConditionInput {
  const details = {
    ...(errors.length > 0 && { errors: errors.map(subCondition) }),
    ...(warnings.length + nacks.length > 0 && { warnings: [...warnings.map(subCondition), ...nacks] }),
  };
  const condition =
    errors.length === 0
      ? valid.isTrue('Valid', 'the configuration is valid')
      : valid.isFalse(
          'ErrorPresent',
          `${errors.length === 1 ? 'there is an error' : `there are ${errors.length} errors`}; see errors`,
        );
  return { ...condition, details };
}

function subCondition(problem: Problem): SubCondition {
  const { type, reason } = problem;
  return { type, status: 'True', reason, message: problemText(problem).slice(0, MAX_MESSAGE) };
}

/** All replicas see the same objects, one of them a moment earlier. */
function referenceWarnings(instances: readonly Instance[]): Problem[] {
  return distinct(instances.flatMap(({ record }) => record.warnings ?? []));
}

function distinct(problems: readonly Problem[]): Problem[] {
  return [...new Map(problems.map((problem) => [problem.path, problem])).values()];
}

const MAX_NACKS = 32;

function nackWarnings(instances: readonly Instance[]): SubCondition[] {
  const found = new Map<string, SubCondition>();
  for (const { record } of instances)
    for (const { object, type, message } of record.nacks)
      found.set(`${object} ${type}`, {
        type: 'EnvoyRefused',
        status: 'True',
        reason: type.toUpperCase(),
        message: `${object}: Envoy refused the configuration from it (${message}); the last accepted version stays in force`,
      });
  return [...found.values()].slice(0, MAX_NACKS);
}

function appliedCondition(
  errors: readonly Problem[],
  instances: readonly Instance[],
  version: Version,
): ConditionInput {
  const { generation } = version;
  if (instances.length === 0)
    return applied.isUnknown('NoInstances', 'no instance of Sesame reports to this configuration');
  if (errors.length > 0)
    return applied.isFalse(
      'InvalidConfiguration',
      `generation ${generation} is not valid and is not applied; see the condition Valid`,
    );
  const failed = instances.find(({ record }) => record.state === 'Failed');
  if (failed !== undefined)
    return applied.isFalse('Failed', `${failed.name}: ${failed.record.problem ?? 'a part did not start'}`);
  const late = instances.filter(
    ({ record }) =>
      record.version?.uid !== version.uid || record.version.generation !== generation || record.state !== 'Running',
  );
  if (late.length === 0)
    return applied.isTrue(
      'Applied',
      `generation ${generation} is in force in ${instances.length} ${instances.length === 1 ? 'instance' : 'instances'}`,
    );
  const [first] = late;
  const names = late.map(({ name }) => name).join(', ');
  const problem = first?.record.problem === undefined ? '' : ` (${first.record.problem})`;
  return first?.record.state === 'Starting'
    ? applied.isFalse('Restarting', `generation ${generation} is starting in ${names}${problem}`)
    : applied.isFalse('Waiting', `generation ${generation} is not in force yet in ${names}${problem}`);
}
