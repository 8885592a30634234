// The tool that will carry out a change. The same manifest has different results: client-side apply removes the fields that the
// last applied manifest had, server-side apply those that its field manager owned, replace everything that the manifest leaves
// out, and Helm those that the manifest of the last release had.
import type { KubeObject } from '@capstan/kube';
import { isMap } from './merge-patch.ts';

type ManagedFieldsEntry = NonNullable<KubeObject['metadata']['managedFields']>[number];

export type Tool =
  | { readonly name: 'client-side-apply'; readonly manager: string }
  | { readonly name: 'server-side-apply'; readonly manager: string; readonly force: boolean }
  | { readonly name: 'replace'; readonly manager: string }
  | { readonly name: 'helm'; readonly release: HelmRelease | undefined };

export interface HelmRelease {
  readonly name: string;
  readonly namespace: string;
}

export const TOOLS = ['client-side-apply', 'server-side-apply', 'replace', 'helm'] as const;

export interface ToolChoice {
  readonly tool?: (typeof TOOLS)[number];
  readonly fieldManager?: string;
  readonly forceConflicts?: boolean;
}

export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const CLIENT_SIDE = 'kubectl-client-side-apply';
const REPLACE = 'kubectl-replace';
const SERVER_SIDE = 'kubectl';

/** Returns the tool that the flags name, else the one that manages the object today, else `kubectl apply`. */
export function assumedTool(live: KubeObject | undefined, choice: ToolChoice): Tool {
  const found = live === undefined ? undefined : managingTool(live);
  const { tool = found?.name ?? 'client-side-apply', fieldManager, forceConflicts } = choice;
  const manager = (own: string) => fieldManager ?? (found?.name === tool && 'manager' in found ? found.manager : own);
  switch (tool) {
    case 'client-side-apply':
      return { name: tool, manager: manager(CLIENT_SIDE) };
    case 'replace':
      return { name: tool, manager: manager(REPLACE) };
    case 'server-side-apply': {
      const name = manager(SERVER_SIDE);
      return { name: tool, manager: name, force: forceConflicts ?? FORCING.test(name) };
    }
    case 'helm':
      return { name: tool, release: live && releaseOf(live) };
  }
}

/** The command that the user would run, for people. */
export function describeTool(tool: Tool): string {
  switch (tool.name) {
    case 'client-side-apply':
      return tool.manager === CLIENT_SIDE ? 'kubectl apply' : `client-side apply by ${tool.manager}`;
    case 'server-side-apply': {
      if (FORCING.test(tool.manager)) return `server-side apply by ${tool.manager}`;
      const manager = tool.manager === SERVER_SIDE ? '' : ` --field-manager=${tool.manager}`;
      return `kubectl apply --server-side${manager}${tool.force ? ' --force-conflicts' : ''}`;
    }
    case 'replace':
      return 'kubectl replace';
    case 'helm':
      return `helm upgrade${tool.release === undefined ? '' : ` ${tool.release.name}`}`;
  }
}

/** Continuous delivery takes fields over from any other manager. */
const FORCING = /^(argocd|kustomize-controller|helm-controller|flux|pulumi|Terraform|terraform)/;
/** Field managers of operators, which apply parts of objects that a user manages. */
const OPERATORS = /^capstan\./;

/** The tool that wrote the object last, among those that keep a whole manifest. */
function managingTool(live: KubeObject): Tool | undefined {
  const { managedFields = [] } = live.metadata;
  const found = managedFields.flatMap((entry) => {
    const tool = entry.subresource ? undefined : toolOf(entry, live);
    return tool === undefined ? [] : [{ tool, rank: rankOf(tool), time: entry.time ?? '' }];
  });
  const [last] = found.toSorted((a, b) => a.rank - b.rank || (a.time < b.time ? 1 : a.time > b.time ? -1 : 0));
  if (last !== undefined) return last.tool;
  // The annotation alone shows it where the server keeps no managers.
  return live.metadata.annotations?.[LAST_APPLIED] === undefined
    ? undefined
    : { name: 'client-side-apply', manager: CLIENT_SIDE };
}

function toolOf(entry: ManagedFieldsEntry, live: KubeObject): Tool | undefined {
  const { manager = '', operation } = entry;
  const release = releaseOf(live);
  if (manager === 'helm' && operation === 'Update' && release !== undefined) return { name: 'helm', release };
  if (operation === 'Apply')
    return OPERATORS.test(manager) || !(ownsContent(entry) || isOnly(entry, live))
      ? undefined
      : { name: 'server-side-apply', manager, force: FORCING.test(manager) };
  if (manager === REPLACE) return { name: 'replace', manager };
  return ownsLastApplied(entry) ? { name: 'client-side-apply', manager } : undefined;
}

/** A manager that only some controller uses comes after the tools of people, however recent it is. */
function rankOf(tool: Tool): number {
  const isKnown =
    tool.name !== 'server-side-apply' || tool.manager === SERVER_SIDE || tool.force || tool.manager === 'helm';
  return isKnown ? 0 : 1;
}

function ownsContent({ fieldsV1 = {} }: ManagedFieldsEntry): boolean {
  return Object.keys(fieldsV1).some((field) => field !== 'f:metadata' && field !== 'f:status');
}

/** A controller may apply a label; a tool that wrote the whole object has no other manager beside it. */
function isOnly(entry: ManagedFieldsEntry, { metadata }: KubeObject): boolean {
  return (metadata.managedFields ?? []).every((other) => other === entry || other.subresource === 'status');
}

export function ownsLastApplied({ fieldsV1 }: ManagedFieldsEntry): boolean {
  const metadata = fieldsV1?.['f:metadata'];
  const annotations = isMap(metadata) ? metadata['f:annotations'] : undefined;
  return isMap(annotations) && `f:${LAST_APPLIED}` in annotations;
}

function releaseOf({ metadata }: KubeObject): HelmRelease | undefined {
  const { annotations = {} } = metadata;
  const name = annotations['meta.helm.sh/release-name'];
  const namespace = annotations['meta.helm.sh/release-namespace'] ?? metadata.namespace ?? 'default';
  return name === undefined ? undefined : { name, namespace };
}
