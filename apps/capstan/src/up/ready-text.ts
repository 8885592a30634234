import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pasteable } from '../cli/help.ts';
import type { FirstRequest } from './first-request.ts';
import type { UpSettings } from './up-options.ts';

const DOCS = fileURLToPath(new URL('../../../../docs/', import.meta.url));

/** The fields of the event `ready`. */
export interface ReadyFields {
  readonly kubeconfig: string;
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  /** The contexts in the user's own kubeconfig, and its path; only with --merge-kubeconfig. */
  readonly merged?: { readonly file: string; readonly contexts: readonly string[] };
  /** The address of the web console, and the file with its one-time code; absent with --console=false. */
  readonly console?: string;
  readonly consoleCodeFile?: string;
  readonly demo: readonly DemoObjects[];
  /** Only where a demonstration has one. */
  readonly request?: FirstRequest;
}

/** The applied objects of a demonstration that the user can look at. */
export interface DemoObjects {
  /** The operator that brings it. */
  readonly name: string;
  /** The folder of its manifests; absolute. */
  readonly folder: string;
  /** `Kind namespace/name` of those objects that are there now, the operator's own kinds first. */
  readonly objects: readonly string[];
  /** The plural names of the operator's kinds among them, for kubectl. */
  readonly resources: readonly string[];
}

export interface ReadyTextOptions {
  settings: Pick<UpSettings, 'data' | 'unknownImages'>;
  env: Readonly<Record<string, string | undefined>>;
  /** Undefined in the foreground. */
  detached?: { readonly pid: number; readonly log: string };
  /** The one-time code of the console. */
  consoleCode?: string;
}

const PODS: Readonly<Record<UpSettings['unknownImages'], string>> = {
  simulate: 'Pods that this machine cannot run are simulated; capstan status names them.',
  fail: 'Pods whose image this machine cannot run wait with ImagePullBackOff.',
};

/** The screen fits a small terminal. Paths of the user may be longer. */
const COLUMNS = 80;

/** The ready screen: the address of the cluster, its content, a request to try, and the next commands. */
export function readyText(fields: ReadyFields, { settings, env, detached, consoleCode }: ReadyTextOptions): string {
  const { clusters, demo, request, merged } = fields;
  const [first, ...others] = clusters;
  const lines = [
    'Capstan is ready.',
    `  ${first?.name ?? ''}  ${first?.url ?? ''}`,
    ...(others.length === 0 ? [] : [cut(`  other contexts: ${others.map(({ name }) => name).join(', ')}`)]),
    ...(fields.console === undefined
      ? []
      : [`  console: ${fields.console}${consoleCode === undefined ? '' : `#code=${consoleCode}`}`]),
    ...demoLines(demo),
    ...requestLines(request, env),
    `${detached === undefined ? 'In another terminal' : 'Try'}:`,
    ...commands(fields).map((line) => `  ${pasteable(line, env)}`),
    cut(PODS[settings.unknownImages]),
    ...(merged === undefined
      ? []
      : [
          `The contexts ${merged.contexts.join(', ')} are in ${merged.file}; ${merged.contexts[0]} is the current one.`,
        ]),
    ...(detached === undefined
      ? [`Ctrl-C stops it; everything is kept in ${settings.data}.`]
      : [
          `It runs in the background (pid ${detached.pid}); its log is ${detached.log}.`,
          `${pasteable(`capstan down --data ${settings.data}`, env)} stops it.`,
        ]),
  ];
  return `${lines.join('\n')}\n`;
}

function demoLines(demo: readonly DemoObjects[]): string[] {
  const shown = demo.filter(({ objects }) => objects.length > 0);
  if (shown.length === 0) return [];
  const width = Math.max(...shown.map(({ name }) => name.length));
  const tutorials = shown.some(({ name }) => existsSync(join(DOCS, `${name}.md`)));
  return [
    'The demonstration:',
    ...shown.map(({ name, objects }) => `  ${name.padEnd(width)}  ${shortened(objects, COLUMNS - width - 4)}`),
    ...(tutorials ? [`  tutorials: ${join(DOCS, 'NAME.md')}`] : []),
  ];
}

/** As many as fit, and how many there are besides. */
function shortened(objects: readonly string[], room: number): string {
  for (let count = objects.length; count > 1; count--) {
    const rest = objects.length - count;
    const text = `${objects.slice(0, count).join(', ')}${rest === 0 ? '' : ` and ${rest} more`}`;
    if (text.length <= room) return text;
  }
  return `${objects[0]}${objects.length > 1 ? ` and ${objects.length - 1} more` : ''}`;
}

function requestLines(request: FirstRequest | undefined, env: ReadyTextOptions['env']): string[] {
  if (request === undefined) return [];
  return 'curl' in request
    ? [
        request.isStarting ? 'A request to try, in a moment (Envoy is starting):' : 'A request to try:',
        `  ${request.curl}`,
      ]
    : [cut(pasteable(`No request: ${request.problem}`, env))];
}

function cut(line: string): string {
  return line.length <= COLUMNS ? line : `${line.slice(0, COLUMNS - 1)}…`;
}

/** Three commands that work as they stand, after the one that shows where the cluster is. */
function commands({ kubeconfig, merged, demo }: ReadyFields): string[] {
  const first = demo.find(({ objects }) => objects.length > 0);
  return [
    ...(merged === undefined ? [`export KUBECONFIG=${kubeconfig}`] : []),
    fitting([...new Set(demo.flatMap((one) => one.resources))]),
    'capstan status',
    first === undefined ? 'kubectl get events -A' : treeOf(first.objects[0] ?? ''),
  ];
}

/** As many kinds as fit beside the name of the command. */
function fitting(resources: readonly string[]): string {
  for (let count = resources.length; count > 0; count--) {
    const line = `kubectl get ${resources.slice(0, count).join(',')} -A`;
    if (line.length <= COLUMNS - 2) return line;
  }
  return 'kubectl get all -A';
}

/** `Kind namespace/name`, as the command takes it. */
function treeOf(object: string): string {
  const [kind = '', path = ''] = object.split(' ');
  const [namespace, name] = path.includes('/') ? path.split('/') : [undefined, path];
  return `capstan tree ${kind.toLowerCase()}/${name}${namespace === undefined ? '' : ` -n ${namespace}`}`;
}
