import type { CauseChange, CauseRecord } from '@capstan/reconcile';
import { count } from '../text/table.ts';
import type { Answer } from './cause-chain.ts';

/** The answer to `why`, as people read it. */
export function formatAnswer(answer: Answer): string {
  const { object, belongsTo, cause } = answer;
  const lines: string[] = [];
  if (belongsTo.length > 0) lines.push(`${object} belongs to ${belongsTo.join(', which belongs to ')}.`);
  if (cause === undefined) lines.push(...withoutCause(answer));
  else lines.push(...withCause(belongsTo.at(-1) ?? object, cause));
  return `${lines.join('\n')}\n`;
}

function withCause(object: string, { at, by, for: owner, changes, more }: CauseRecord): string[] {
  const head = `${object} was changed at ${at} by ${by} for ${plainKind(owner)}`;
  if (changes.length === 0) {
    return [`${head}.`, '  What differed is not known: Capstan had just started, and saw the result only.'];
  }
  return [
    `${head} because`,
    ...changes.flatMap(changeLines),
    ...(more === undefined ? [] : [`  and ${count(more, 'further change')}.`]),
  ];
}

function changeLines({ object, paths, from, to, via }: CauseChange): string[] {
  const path = via.filter((step) => !step.startsWith('writes ')).map(stepName);
  return [
    `  ${plainKind(object)}: ${whatHappened(paths, from, to)}`,
    ...(path.length === 0 ? [] : [`    → ${path.join(' → ')}`]),
  ];
}

function whatHappened(paths: readonly string[], from: string, to: string): string {
  if (from === 'absent') return 'was made';
  if (to === 'absent') return 'was removed';
  if (from === 'unknown') return 'became known';
  const what = paths.length === 0 || paths[0] === '.' ? 'its content' : paths.join(', ');
  // Secrets may have no digest to show.
  const digests = from === '' || to === '' ? '' : ` (${from} → ${to})`;
  return `${what} changed${digests}`;
}

function withoutCause({ object, owner, managers }: Answer): string[] {
  const others = managers.map(({ name, at }) => (at === undefined ? name : `${name} (last at ${at})`));
  const known =
    others.length === 0 ? 'the server does not say who writes it' : `its fields are written by ${others.join(', ')}`;
  if (owner !== undefined) {
    return [`${object} was made by ${plainKind(owner)}, and no change of it has been recorded yet; ${known}.`];
  }
  return [`Capstan has not changed ${object}: it carries no cause; ${known}.`];
}

/** `Deployment.apps default/x` without the group, which people seldom need. */
function plainKind(object: string): string {
  return object.replace(/\b([A-Z]\w*)\.[a-z0-9.-]+(?= )/, '$1');
}

/** A derivation as the engine names it: `plan kroxylicious.kafka-proxy(default/x)`. */
function stepName(step: string): string {
  const [, name = step, key = ''] = /^(?:plan )?(.*?)\((.*)\)$/.exec(step) ?? [];
  return key === '' ? name : `${name} ${key}`;
}
