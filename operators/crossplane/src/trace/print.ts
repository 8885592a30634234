// A tree as text: a table with branches, a document, or a graph for Graphviz; columns as upstream has them.
import { isRecord, type KubeObject } from '@capstan/kube';
import { formatReport, objectName, type ReportFormat } from '@capstan/reconcile/command-line';
import { GROUP } from '../kinds/index.ts';
import type { TraceNode } from './tree.ts';

/** Upstream calls the table default. */
export type TraceOutput = ReportFormat | 'default' | 'dot';

const PACKAGES = ['Provider', 'Configuration', 'Function'];
/** Longer messages are cut at their beginning, unless asked for. */
const MESSAGE_LENGTH = 64;

export async function printTree(root: TraceNode, output: TraceOutput): Promise<string> {
  if (output === 'dot') return asDot(root);
  return formatReport(output === 'default' ? 'table' : output, {
    value: asJson(root),
    text: (isWide) => asTable(root, isWide),
    names: () => namesOf(root),
  });
}

function namesOf({ object: { apiVersion, kind, metadata }, children }: TraceNode): string[] {
  const group = apiVersion.includes('/') ? `.${apiVersion.split('/')[0]}` : '';
  return [objectName(`${kind}${group}`, metadata.name ?? ''), ...children.flatMap(namesOf)];
}

const isPackage = ({ apiVersion, kind }: KubeObject) => apiVersion.startsWith(`${GROUP}/`) && PACKAGES.includes(kind);
const isRevision = ({ apiVersion, kind }: KubeObject) =>
  apiVersion.startsWith(`${GROUP}/`) && PACKAGES.some((one) => kind === `${one}Revision`);

function asJson({ object, error, children }: TraceNode): object {
  return { object, ...(error && { error }), ...(children.length > 0 && { children: children.map(asJson) }) };
}

function asTable(root: TraceNode, isWide: boolean): string {
  const ofPackages = isPackage(root.object) || isRevision(root.object);
  const head = ofPackages
    ? ['NAME', ...(isWide ? ['PACKAGE'] : []), 'VERSION', 'INSTALLED', 'HEALTHY', 'STATE', 'STATUS']
    : ['NAME', ...(isWide ? ['RESOURCE'] : []), 'SYNCED', 'READY', 'STATUS'];
  const rows = [head];
  const add = (node: TraceNode, branch: string, inherited: string) => {
    const { kind, metadata } = node.object;
    const name = `${branch}${kind}/${metadata.name}${metadata.namespace === undefined ? '' : ` (${metadata.namespace})`}`;
    rows.push([name, ...(ofPackages ? packageColumns(node, isWide) : resourceColumns(node, isWide))]);
    for (const [i, child] of node.children.entries()) {
      const isLast = i === node.children.length - 1;
      add(child, `${inherited}${isLast ? '└─ ' : '├─ '}`, `${inherited}${isLast ? '   ' : '│  '}`);
    }
  };
  add(root, '', '');
  const widths = head.map((_, column) => Math.max(...rows.map((row) => widthOf(row[column]))));
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell + ' '.repeat((widths[i] ?? 0) - widthOf(cell)))
        .join('   ')
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join('');
}

function packageColumns(node: TraceNode, isWide: boolean): string[] {
  const { object } = node;
  const { image, version } = imageOf(object);
  const [installed, healthy] = [conditionOf(object, 'Installed'), conditionOf(object, 'Healthy')];
  const order = isPackage(object)
    ? [installed, healthy]
    : [healthy ?? conditionOf(object, 'RuntimeHealthy') ?? otherOf(object)];
  return [
    ...(isWide ? [image] : []),
    version,
    installed?.status ?? '-',
    healthy?.status ?? (isRevision(object) ? '-' : (otherOf(object)?.status ?? '-')),
    isRevision(object) ? textAt(object, 'spec', 'desiredState') || '-' : '-',
    statusOf(node, order, isWide),
  ];
}

function resourceColumns(node: TraceNode, isWide: boolean): string[] {
  const { object } = node;
  const [synced, ready] = [conditionOf(object, 'Synced'), conditionOf(object, 'Ready')];
  return [
    ...(isWide ? [object.metadata.annotations?.['crossplane.io/composition-resource-name'] ?? ''] : []),
    synced?.status ?? '-',
    ready?.status ?? '-',
    statusOf(node, [synced, ready], isWide),
  ];
}

/** Every character counts once, those of branches too. */
const widthOf = (cell = '') => Array.from(cell).length;

const textOf = (value: unknown) => (typeof value === 'string' ? value : '');

interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The first that is not true, else the reason of the last. */
function statusOf(
  { object, error }: TraceNode,
  conditions: readonly (Condition | undefined)[],
  isWide: boolean,
): string {
  if (error !== undefined) return shown('Error', error, isWide);
  if (object.metadata.deletionTimestamp !== undefined) return 'Deleting';
  const known = conditions.filter((one) => one !== undefined);
  const wrong = known.find(({ status, reason, message }) => status !== 'True' && (reason !== '' || message !== ''));
  if (wrong !== undefined) return shown(wrong.reason, wrong.message, isWide);
  return known.at(-1)?.reason ?? '';
}

function shown(reason: string, message: string, isWide: boolean): string {
  const text = message.replaceAll(/\s+/g, ' ');
  const cut = isWide || text.length <= MESSAGE_LENGTH ? text : `...${text.slice(-MESSAGE_LENGTH)}`;
  return cut === '' ? reason : `${reason}: ${cut}`;
}

function conditionsOf(object: KubeObject): Record<string, unknown>[] {
  const { status } = object as { status?: unknown };
  const list = isRecord(status) ? status['conditions'] : undefined;
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function conditionOf(object: KubeObject, type: string): Condition | undefined {
  const found = conditionsOf(object).find((one) => one['type'] === type);
  if (found === undefined) return undefined;
  // Upstream's controllers leave the message out where there is none.
  return {
    status: String(found['status']),
    reason: textOf(found['reason']),
    message: textOf(found['message']),
  };
}

/** The condition of objects that a package installed: whether a type is served, or pods run. */
const otherOf = (object: KubeObject) => conditionOf(object, 'Established') ?? conditionOf(object, 'Available');

function textAt(object: KubeObject, part: 'spec', field: string): string {
  const value = (object as unknown as Record<string, unknown>)[part];
  return isRecord(value) && typeof value[field] === 'string' ? value[field] : '';
}

/** A reference by digest has no version. */
function imageOf(object: KubeObject): { image: string; version: string } {
  const text = isPackage(object)
    ? textAt(object, 'spec', 'package')
    : isRevision(object)
      ? textAt(object, 'spec', 'image')
      : '';
  const [, image = text, version = ''] = /^([^@]+?)(?::([^/:@]+))?(?:@.*)?$/.exec(text) ?? [];
  return text.includes('@') && version === '' ? { image: text, version: '' } : { image, version };
}

function asDot(root: TraceNode): string {
  const lines = ['graph  {', '\t'];
  let id = 0;
  const queue: { node: TraceNode; parent?: number }[] = [{ node: root }];
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { node, parent } = next;
    const own = ++id;
    lines.push(`\tn${own}[label=${JSON.stringify(labelOf(node))},penwidth="2"];`);
    if (parent !== undefined) lines.push(`\tn${parent}--n${own};`);
    for (const child of node.children) queue.push({ node: child, parent: own });
  }
  return [...lines, '}', ''].join('\n');
}

function labelOf({ object, error }: TraceNode): string {
  const { apiVersion, kind, metadata } = object;
  const status = (type: string) => conditionOf(object, type)?.status ?? '';
  const ofPackage = isPackage(object) || isRevision(object);
  const { image, version } = imageOf(object);
  const lines: [string, string][] = [
    ['Name', ofPackage ? (metadata.name ?? '') : `${kind}/${metadata.name}`],
    ['ApiVersion', apiVersion],
    ['Namespace', metadata.namespace ?? ''],
    ...(ofPackage
      ? ([
          ['Package', version === '' ? image : `${image}:${version}`],
          ['Installed', status('Installed')],
          ['Healthy', status('Healthy')],
          ['State', textAt(object, 'spec', 'desiredState')],
        ] as [string, string][])
      : ([
          ['Ready', status('Ready')],
          ['Synced', status('Synced')],
        ] as [string, string][])),
    ['Error', error ?? ''],
  ];
  return lines
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
}
