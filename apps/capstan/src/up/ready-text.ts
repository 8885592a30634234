import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pasteable } from '../cli/help.ts';
import type { UpSettings } from './up-options.ts';

/** What the event `ready` carries. */
export interface ReadyFields {
  readonly kubeconfig: string;
  readonly clusters: readonly { readonly name: string; readonly url: string }[];
  /** The contexts in the user's own kubeconfig, and its path; only with --merge-kubeconfig. */
  readonly merged?: { readonly file: string; readonly contexts: readonly string[] };
  readonly demo: readonly DemoObjects[];
}

/** What a demonstration applied, and what the user can look at. */
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
}

const PODS: Readonly<Record<UpSettings['unknownImages'], string>> = {
  simulate:
    'Pods whose image this machine cannot run are simulated; kubectl get pods -o wide marks them (--unknown-images=fail: they wait).',
  fail: 'Pods whose image this machine cannot run wait with ImagePullBackOff (--unknown-images=simulate: they are simulated).',
};

const DOCS = fileURLToPath(new URL('../../../../docs/', import.meta.url));

/** What people see when the cluster is ready: where it is, what is in it, and what to type next. */
export function readyText(fields: ReadyFields, { settings, env, detached }: ReadyTextOptions): string {
  const { clusters, demo, kubeconfig, merged } = fields;
  const width = Math.max(...clusters.map(({ name }) => name.length));
  const parts = [
    `Capstan is ready.\n${clusters.map(({ name, url }) => `  ${name.padEnd(width)}  ${url}`).join('\n')}`,
    ...demoPart(demo),
    PODS[settings.unknownImages],
    `${detached === undefined ? 'In another terminal' : 'Try'}:\n${commands(fields)
      .map((line) => `  ${pasteable(line, env)}`)
      .join('\n')}`,
    merged === undefined
      ? `The kubeconfig is ${kubeconfig}.`
      : `The contexts ${merged.contexts.join(', ')} are in ${merged.file}; ${merged.contexts[0]} is the current one.`,
    detached === undefined
      ? `Ctrl-C stops it; everything is kept in ${settings.data}.`
      : `It runs in the background (pid ${detached.pid}); its log is ${detached.log}. ${pasteable(`capstan down --data ${settings.data}`, env)} stops it.`,
  ];
  return `${parts.join('\n\n')}\n`;
}

function demoPart(demo: readonly DemoObjects[]): string[] {
  const shown = demo.filter(({ objects }) => objects.length > 0);
  if (shown.length === 0) return [];
  const width = Math.max(...shown.map(({ name }) => name.length));
  const lines = shown.flatMap(({ name, objects }) => {
    const tutorial = join(DOCS, `${name}.md`);
    return [
      `  ${name.padEnd(width)}  ${shortened(objects)}`,
      ...(existsSync(tutorial) ? [`  ${' '.repeat(width)}  tutorial: ${tutorial}`] : []),
    ];
  });
  return [`The demonstration:\n${lines.join('\n')}`];
}

const MAX_OBJECTS = 4;

function shortened(objects: readonly string[]): string {
  const shown = objects.slice(0, MAX_OBJECTS).join(', ');
  return objects.length <= MAX_OBJECTS ? shown : `${shown} and ${objects.length - MAX_OBJECTS} more`;
}

/** Three commands that work as they stand, after the one that shows where the cluster is. */
function commands({ kubeconfig, merged, demo }: ReadyFields): string[] {
  const resources = [...new Set(demo.flatMap((one) => one.resources))];
  const first = demo.find(({ objects }) => objects.length > 0);
  return [
    ...(merged === undefined ? [`export KUBECONFIG=${kubeconfig}`] : []),
    resources.length === 0 ? 'kubectl get all -A' : `kubectl get ${resources.join(',')} -A`,
    'capstan status',
    first === undefined
      ? 'kubectl get events -A'
      : `capstan plan -f ${first.folder} --operators ${first.name} --delete`,
  ];
}
