// The tree as people read it: the object with its health, then one section for each direction.
import { plainKind } from '../status/gather-status.ts';
import type { Colours } from '../text/colours.ts';
import type { Node } from './object-graph.ts';
import type { Branch, TreeReport } from './tree-report.ts';

export function formatTree(report: TreeReport, colours: Colours): string {
  const sections = [
    section('belongs to', report.belongsTo, colours),
    section('depends on', report.dependsOn, colours),
    section('needed by', report.neededBy, colours),
    section('owns', report.owns, colours),
  ];
  const unread = report.unread.length === 0 ? '' : `\nNot read: ${report.unread.join(', ')}\n`;
  return `${nodeText(report.object, colours)}\n${sections.join('')}${unread}`;
}

/** More than these are counted: a Service may serve thousands of routes. */
const MOST = 40;

function section(title: string, branches: readonly Branch[], colours: Colours): string {
  if (branches.length === 0) return '';
  const shown = branches.slice(0, MOST);
  const lines = shown.map((branch, at) => `${prefixOf(branches, at)}${nodeText(branch, colours)}\n`);
  const more = branches.length > MOST ? `… and ${branches.length - MOST} more; -o json has them all\n` : '';
  return `\n${colours.bold(title)}\n${lines.join('')}${more}`;
}

/** The lines that lead to a branch: a bar for each level that goes on below. */
function prefixOf(branches: readonly Branch[], at: number): string {
  const { depth = 0 } = branches[at] ?? {};
  const goesOn = (level: number) => {
    for (const { depth: other } of branches.slice(at + 1)) {
      if (other < level) return false;
      if (other === level) return true;
    }
    return false;
  };
  const bars = Array.from({ length: depth }, (_, level) => (goesOn(level) ? '│  ' : '   ')).join('');
  return `${bars}${goesOn(depth) ? '├─ ' : '└─ '}`;
}

function nodeText({ kind, object, state, message }: Node, { bold, green, red, yellow }: Colours): string {
  const name = `${plainKind(kind)} ${bold(object)}`;
  if (state === 'Present') return name;
  const isBad = state === 'NotReady' || state === 'Error' || state === 'Missing' || state === 'Stopped';
  const shown = state === 'Ready' ? green(state) : isBad ? red(state) : yellow(state);
  return `${name} ${shown}${message === '' ? '' : `: ${message.replaceAll(/\s+/g, ' ').trim()}`}`;
}
