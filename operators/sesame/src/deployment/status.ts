// The report of a SesameDeployment about its instance.
import { type ConditionInput, conditionType } from '@capstan/reconcile';
import { type Problem, problemText } from '../configuration/index.ts';
import { type InstanceId, sesameSelector } from './instance.ts';
import type { WorkloadHealth } from './workload-health.ts';

const available = conditionType<'Available' | 'SesameUnavailable' | 'EnvoyUnavailable' | 'NotDeployed'>('Available');
const progressing = conditionType<'RolledOut' | 'RollingOut' | 'Waiting' | 'InvalidConfiguration' | 'Deleting'>(
  'Progressing',
);
const configurationValid = conditionType<'Valid' | 'ErrorPresent' | 'Misspelt'>('ConfigurationValid');

export interface InstanceState {
  /** Undefined while it does not exist. */
  readonly sesame: WorkloadHealth | undefined;
  readonly envoy: WorkloadHealth | undefined;
  readonly errors: readonly Problem[];
  readonly warnings: readonly Problem[];
  /** Sesame's own report on its configuration, if that is newer. */
  readonly reported: string | undefined;
  /** The event that the rollout waits for. */
  readonly waitingFor: string | undefined;
}

export function instanceConditions(state: InstanceState): ConditionInput[] {
  return [availableCondition(state), progressingCondition(state), validCondition(state)];
}

/** `replicas` and `selector` are those of the scale subresource. */
export function instanceCounts(id: InstanceId, { sesame, envoy }: Pick<InstanceState, 'sesame' | 'envoy'>) {
  return {
    replicas: sesame?.existing ?? 0,
    selector: formatSelector(sesameSelector(id)),
    availableSesames: sesame?.available ?? 0,
    availableEnvoys: envoy?.available ?? 0,
    desiredSesames: sesame?.desired ?? 0,
    desiredEnvoys: envoy?.desired ?? 0,
  };
}

function formatSelector(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

function availableCondition({ sesame, envoy }: InstanceState): ConditionInput {
  if (sesame === undefined || envoy === undefined)
    return available.isFalse('NotDeployed', 'the instance is not deployed yet');
  if (sesame.available === 0)
    return available.isFalse(
      'SesameUnavailable',
      withProblem(`none of ${sesame.desired} pods of Sesame is available`, sesame),
    );
  if (envoy.available === 0)
    return available.isFalse(
      'EnvoyUnavailable',
      withProblem(`none of ${envoy.desired} pods of Envoy is available`, envoy),
    );
  return available.isTrue('Available', 'pods of Sesame and of Envoy are available');
}

function withProblem(text: string, { problem }: WorkloadHealth): string {
  return problem === undefined ? text : `${text}: ${problem}`;
}

function progressingCondition({ sesame, envoy, errors, waitingFor }: InstanceState): ConditionInput {
  if (errors.length > 0)
    return progressing.isFalse(
      'InvalidConfiguration',
      'what runs is not changed until the errors are corrected; see ConfigurationValid',
    );
  if (waitingFor !== undefined) return progressing.isTrue('Waiting', `waiting for ${waitingFor}`);
  const unfinished = [
    ['Sesame', sesame],
    ['Envoy', envoy],
  ] as const;
  const parts = unfinished.flatMap(([name, health]) => {
    if (health?.isComplete === true) return [];
    if (health === undefined) return [`${name} is being created`];
    return [
      withProblem(
        `${health.updated} of ${health.desired} pods of ${name} are up to date, ${health.available} available`,
        health,
      ),
    ];
  });
  return parts.length === 0
    ? progressing.isFalse('RolledOut', 'all pods are up to date')
    : progressing.isTrue('RollingOut', parts.join('; '));
}

/** Errors that are shown; the others are counted. */
const SHOWN = 20;

function validCondition({ errors, warnings, reported }: InstanceState): ConditionInput {
  if (errors.length > 0) {
    const more = errors.length > SHOWN ? `; and ${errors.length - SHOWN} more` : '';
    return configurationValid.isFalse(
      'ErrorPresent',
      `${errors
        .slice(0, SHOWN)
        .map((problem) => problemText(problem))
        .join('; ')}${more}`,
    );
  }
  if (reported !== undefined) return configurationValid.isFalse('ErrorPresent', reported);
  const notes = warnings.map((problem) => problemText(problem)).join('; ');
  return configurationValid.isTrue(
    'Valid',
    notes === '' ? 'the configuration is valid' : `the configuration is valid; ${notes}`,
  );
}
