import { relative } from 'node:path';
import type { Io } from '../cli/io.ts';
import type { UpSettings } from './up-options.ts';

/** What people see when the cluster is ready: where it is, and what to type next. */
export function readyText({ kubeconfig, data }: UpSettings, fields: object, io: Io): string {
  const { clusters } = fields as { clusters: readonly { name: string; url: string }[] };
  const width = Math.max(...clusters.map(({ name }) => name.length));
  const lines = clusters.map(({ name, url }) => `  ${name.padEnd(width)}  ${url}`);
  return `Capstan is ready.
${lines.join('\n')}

In another terminal:
  export KUBECONFIG=${shown(kubeconfig, io)}
  kubectl get all -A

Ctrl-C stops it; everything is kept in ${shown(data, io)}.
`;
}

function shown(path: string, { cwd }: Io): string {
  const near = relative(cwd, path);
  return near.startsWith('..') ? path : near;
}
