// The answer to `why`, as people read it: `Secret ca key ca.crt changed → KafkaService upstream → … → KafkaProxy my-proxy`,
// and below it the digests before and after. Names are short where they are in the namespace that was asked about.
import type { CauseChange, CauseRecord } from '@capstan/reconcile';
import { count } from '@capstan/reconcile/command-line';
import type { Answer } from './cause-chain.ts';

export function formatAnswer(answer: Answer): string {
  const { object, belongsTo, cause, rolled, template } = answer;
  const lines: string[] = [];
  if (belongsTo.length > 0) lines.push(`${object} belongs to ${belongsTo.join(', which belongs to ')}.`);
  if (cause === undefined) return text([...lines, ...withoutCause(answer)]);
  const subject = belongsTo.at(-1) ?? object;
  const templates = template === undefined ? [] : [`    pod template: ${template.from} → ${template.to}`];
  lines.push(...withCause(`${subject} was changed`, subject, cause));
  // A later change that rolled nothing (scaling) does not hide the cause of the last rollout.
  if (rolled === undefined) return text([...lines, ...templates]);
  return text([...lines, ...withCause('Its pods were last rolled', subject, rolled), ...templates]);
}

function text(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`;
}

function withCause(what: string, subject: string, cause: CauseRecord): string[] {
  const { at, by, for: owner, changes, more } = cause;
  const head = `${what} at ${at} by ${by} for ${plainKind(owner)}`;
  if (changes.length === 0) {
    return [`${head}.`, '  What differed is not known: Capstan had just started, and saw the result only.'];
  }
  const near = nearTo(subject);
  return [
    `${head} because`,
    ...changes.flatMap((change) => changeLines(change, cause, near)),
    ...(more === undefined ? [] : [`  and ${count(more, 'further change')}.`]),
  ];
}

type Near = (name: string) => string;

/** Leaves out the namespace of the object that was asked about. */
function nearTo(subject: string): Near {
  const [, namespace = ''] = /^\S+ ([^/]+)\//.exec(subject) ?? [];
  return (name) => (namespace === '' ? name : name.replace(` ${namespace}/`, ' '));
}

function changeLines({ object, paths, from, to, via }: CauseChange, cause: CauseRecord, near: Near): string[] {
  const changed = plainKind(object);
  const steps = via.filter((step) => !step.startsWith('writes ')).map((step) => stepName(step, cause));
  const path = steps.filter((step, i) => step !== (steps[i - 1] ?? changed));
  const chain = [`${near(changed)} ${whatHappened(changed, paths, from, to)}`, ...path.map(near)].join(' → ');
  // Where something was created or has gone there is nothing to compare, and Secrets may have no digest to show.
  const isCompared = ![from, to].some((digest) => ['', 'absent', 'unknown'].includes(digest));
  return [`  ${chain}`, ...(isCompared ? [`    ${near(changed)}: ${from} → ${to}`] : [])];
}

function whatHappened(object: string, paths: readonly string[], from: string, to: string): string {
  if (from === 'absent') return 'was created';
  if (to === 'absent') return 'was removed';
  if (from === 'unknown') return 'became known';
  if (paths.length === 0 || paths[0] === '.') return 'changed';
  const keys = /^(Secret|ConfigMap) /.test(object) ? paths.flatMap(keyOfData) : [];
  if (keys.length < paths.length) return `${paths.join(', ')} changed`;
  return `${keys.length === 1 ? 'key' : 'keys'} ${keys.join(', ')} changed`;
}

/** `data["ca.crt"]` and `data.token` are shown as keys. */
function keyOfData(path: string): string[] {
  const [, quoted, plain] = /^(?:data|binaryData)(?:\["([^"]+)"\]|\.([^.[]+))$/.exec(path) ?? [];
  const key = quoted ?? plain;
  return key === undefined ? [] : [key];
}

function withoutCause({ object, owner, managers }: Answer): string[] {
  const others = managers.map(({ name, at }) => (at === undefined ? name : `${name} (last at ${at})`));
  const known =
    others.length === 0 ? 'its field managers are not known' : `its fields are written by ${others.join(', ')}`;
  if (owner !== undefined) {
    return [`${object} was created by ${plainKind(owner)}, and no change of it has been recorded yet; ${known}.`];
  }
  // A value that was changed for a time and is as before carries no cause, and neither does a status.
  const isOurs = managers.some(({ name }) => name.startsWith('capstan.'));
  const what = isOurs
    ? `Capstan has left no cause on ${object}`
    : `Capstan has not changed ${object}: it carries no cause`;
  return [`${what}; ${known}.`];
}

/** `Deployment.apps default/x` without the group, which people seldom need. */
function plainKind(object: string): string {
  return object.replace(/\b([A-Z]\w*)\.[a-z0-9.-]+(?= )/, '$1');
}

/**
 * A derivation as the engine names it: `KafkaService(default/x)`. The plan of the reconciler that wrote, `plan
 * kroxylicious.kafka-proxy(default/x)`, is shown as the object that it belongs to.
 */
function stepName(step: string, { by, for: owner }: CauseRecord): string {
  const [, name = step, key = ''] = /^(?:plan )?(.*?)\((.*)\)$/.exec(step) ?? [];
  if (name === by) return plainKind(owner);
  return key === '' ? name : `${name} ${key}`;
}
