// The status for people: the verdict first, then root causes, unhealthy objects, and counts.
import { stripVTControlCharacters } from 'node:util';
import { count, table } from '@capstan/reconcile/command-line';
import type { Colours } from '../text/colours.ts';
import { NOT_INSTALLED, type Problem, plainKind, type StatusReport } from './gather-status.ts';
import { isInProgress } from './health-of.ts';
import type { SimulatedPods } from './simulated-pods.ts';

export interface StatusStyle {
  readonly isWide: boolean;
  readonly colours: Colours;
  /** The width of the terminal; undefined where nothing is to be cut. */
  readonly columns?: number | undefined;
}

export function formatStatus(report: StatusReport, { isWide, colours, columns }: StatusStyle): string {
  const { problems, operators, kinds, simulated } = report;
  const parts: string[] = [summaryOf(problems, kinds, colours)];
  const roots = problems.filter((problem) => problem.dependsOn.length === 0 && !isInProgress(problem));
  for (const root of roots.slice(0, isWide ? roots.length : MAX_ROOTS)) parts.push(rootText(root, colours));
  if (problems.length > 0) parts.push(problemTable(problems, isWide, colours));
  const absent = absentOperators(kinds);
  const present = kinds.filter(({ operator, objects }) => isWide || (!absent.has(operator) && objects !== 0));
  const counts = present.map(({ operator, kind, objects, problem, notReady }) => {
    const ready = objects === undefined ? (problem ?? '') : `${objects - notReady.length} of ${objects}`;
    return [operator, kind, ready];
  });
  if (!isWide) counts.push(...[...absent].map((operator) => [operator, '', NOT_INSTALLED]));
  if (counts.length > 0) parts.push(table(['OPERATOR', 'KIND', 'READY'], counts));
  parts.push(
    table(
      ['OPERATOR', 'LEADER'],
      operators.map(({ operator, summary }) => [operator, summary]),
    ),
  );
  if (simulated !== undefined) parts.push(simulatedText(simulated));
  const text = parts.filter((part) => part !== '').join('\n');
  return columns === undefined || isWide ? text : text.replaceAll(/^.*$/gm, (line) => cut(line, columns));
}

const MAX_ROOTS = 3;

function rootText({ kind, object, reason, message, affects }: Problem, { bold, red }: Colours): string {
  const what = [reason, oneLine(message)].filter((text) => text !== '').join(': ');
  const lines = [`${red('Root cause:')} ${bold(`${plainKind(kind)} ${object}`)}`];
  if (what !== '') lines.push(`  ${what}`);
  if (affects.length > 0) lines.push(`  affects ${shortened(affects)}`);
  return `${lines.join('\n')}\n`;
}

function shortened(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  return names.length <= MAX_NAMES ? shown : `${shown} and ${names.length - MAX_NAMES} more`;
}

const MAX_NAMES = 5;

function problemTable(problems: readonly Problem[], isWide: boolean, { red, yellow }: Colours): string {
  const rows = problems.map(({ kind, object, state, reason, message, dependsOn, since }) => {
    const painted =
      state === 'Error' || state === 'NotReady' || state === 'Stopped' || state === 'Absent'
        ? red(state)
        : yellow(state);
    // The whole message of an affected object repeats that of its cause.
    const text = dependsOn.length > 0 && !isWide ? `because of ${shortened(dependsOn)}` : oneLine(message);
    const row = [kind, object, painted, reason];
    return isWide ? [...row, since ?? '', shortened(dependsOn), text] : [...row, text];
  });
  const heading = ['KIND', 'OBJECT', 'STATE', 'REASON'];
  return table([...heading, ...(isWide ? ['SINCE', 'BECAUSE OF'] : []), 'MESSAGE'], rows);
}

function summaryOf(problems: readonly Problem[], kinds: StatusReport['kinds'], { green, red }: Colours): string {
  if (problems.length > 0) return `${red(`${count(problems.length, 'object is', 'objects are')} not healthy.`)}\n`;
  const absent = absentOperators(kinds);
  if (kinds.every(({ operator }) => absent.has(operator))) return 'No operator is installed.\n';
  const unread = kinds.filter(({ operator, objects }) => objects === undefined && !absent.has(operator));
  if (unread.length > 0) return `${count(unread.length, 'kind')} could not be read.\n`;
  return `${green('All objects are healthy.')}\n`;
}

/** Operators none of whose kinds the cluster has: they were left out, and are nothing to worry about. */
function absentOperators(kinds: StatusReport['kinds']): ReadonlySet<string> {
  const absent = new Set(kinds.map(({ operator }) => operator));
  for (const { operator, problem } of kinds) if (problem !== NOT_INSTALLED) absent.delete(operator);
  return absent;
}

function simulatedText({ pods, others }: SimulatedPods): string {
  if (pods.length === 0) return '';
  const all = count(pods.length + others, 'pod is', 'pods are');
  return `${pods.length} of ${all} simulated (nothing runs in ${pods.length === 1 ? 'it' : 'them'}): ${shortened(pods)}.\n`;
}

/** A line that a terminal would break is harder to read than one with less in it; -o wide has all. Colours take no room. */
function cut(line: string, columns: number): string {
  const plain = stripVTControlCharacters(line);
  if (plain.length <= columns) return line;
  if (plain === line) return `${line.slice(0, columns - 1)}…`;
  let [kept, room] = ['', columns - 1];
  // Odd parts are colours.
  for (const [at, part] of line.split(COLOUR).entries()) {
    kept += at % 2 === 1 ? part : part.slice(0, Math.max(0, room));
    if (at % 2 === 0) room -= part.length;
  }
  return `${kept}…`;
}

const COLOUR = new RegExp(`(${String.fromCodePoint(27)}\\[\\d+m)`);

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
