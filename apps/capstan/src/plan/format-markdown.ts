// A plan as a comment of a review, in the Markdown of GitHub and GitLab. Disturbances come first, values are folded.
import type { PreviewWrite } from '@capstan/reconcile';
import { coloursFor } from '../text/colours.ts';
import { type FormatPlanOptions, isLasting, type PlanReport, planLines, summary } from './format-plan.ts';

/** The comment of a bot replaces its former one by this line. */
const MARK = '<!-- capstan plan -->';

export function formatMarkdown(report: PlanReport, failing: readonly string[] = []): string {
  const [writes, later] = [report.writes.filter(isLasting), report.later.filter(isLasting)];
  const disturbing = [...writes, ...later].filter(({ disturbs }) => disturbs !== undefined);
  const delivered = report.deliveries.filter(({ disturbs }) => disturbs !== undefined);
  const options: FormatPlanOptions = { colours: coloursFor({ env: {} }), isWide: false, showStatus: true };
  const details = planLines(report, options);
  return `${[
    MARK,
    `### Capstan plan: ${summary({ ...report, writes, later }, true)}`,
    ...section('Disturbs', [
      ...disturbing.map(disturbance),
      ...delivered.map(({ key, by, disturbs }) => `${code(key)} by ${by}: **${disturbs}**`),
    ]),
    ...section('Stopped by `--fail-on`', failing.map(text)),
    ...section('The server would refuse', report.refusals.map(text)),
    ...section(
      'Reported on objects',
      report.problems.map(({ object, message }) => `${code(object)}: ${text(message)}`),
    ),
    ...section('Not known', report.unknowns.map(text)),
    ...folded('All changes', details),
    '',
    'Nothing has been written.',
  ].join('\n')}\n`;
}

function disturbance({ object, disturbs = '', by }: PreviewWrite & { until?: string }): string {
  return `${code(object)} by ${by}: **${text(disturbs)}**`;
}

function section(title: string, lines: readonly string[]): string[] {
  const once = [...new Set(lines)];
  return once.length === 0 ? [] : ['', `**${title}**`, '', ...once.map((line) => `- ${line}`)];
}

/** A fence that is longer than each one in the text. */
function folded(title: string, lines: readonly string[]): string[] {
  if (lines.length === 0) return [];
  const longest = Math.max(2, ...lines.flatMap((line) => (line.match(/`+/g) ?? []).map(({ length }) => length)));
  const fence = '`'.repeat(longest + 1);
  return [
    '',
    `<details><summary>${title}</summary>`,
    '',
    `${fence}diff`,
    ...lines.map(diffLine),
    fence,
    '',
    '</details>',
  ];
}

/** The signs of a change come first in the line, where a reader of diffs looks for them. */
function diffLine(line: string): string {
  const [, indent = '', sign, rest = ''] = /^( *)([+~-]) (.*)$/s.exec(line) ?? [];
  if (sign === undefined) return line;
  return `${sign === '~' ? '!' : sign} ${indent}${rest}`;
}

/** A text of the cluster must neither become a link nor a mention nor HTML. */
function text(value: string): string {
  return value
    .replace(/[\\`*_[\]<>|#@]/g, (sign) => (sign === '@' ? '@\u200b' : `\\${sign}`))
    .replace(/\s*\n\s*/g, ' ');
}

function code(value: string): string {
  const longest = Math.max(0, ...(value.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${value}${fence}` : `${fence} ${value} ${fence}`;
}
