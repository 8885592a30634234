// How Envoy subscribes, and whether its pods keep the ports that they declare. New instances use one stream of differences and keep
// their ports. A workload that was created by an earlier version has no flags for it: an upgrade alone must not restart its pods, so they
// change with the next change of their pod template.
import type { DaemonSet, Deployment, PodTemplateSpec } from '@capstan/kube';
import { hexHash } from '../envoy/index.ts';

export const XDS_MODES = ['delta-ads', 'sotw'] as const;
export type XdsMode = (typeof XDS_MODES)[number];

/** The known state of the running workload. */
export interface RunningEnvoys {
  /** Undefined: it was created by a version that had no choice, and subscribes to whole states. */
  readonly mode: XdsMode | undefined;
  readonly keepsPorts: boolean;
  /** The template without mode and ports, for which it stays as it is; undefined if it was not checked yet. */
  readonly keptTemplate: string | undefined;
  readonly images: readonly string[];
}

export interface ChosenFlags {
  /** Undefined: the template stays without a flag. */
  readonly mode: XdsMode | undefined;
  readonly keepsPorts: boolean;
  readonly annotations: Readonly<Record<string, string>>;
}

const FLAG = '--xds-mode=';
const PORT_FLAG = '--health-port=';
const KEPT_TEMPLATE = 'projectsesame.io/template-without-xds-mode';

export function runningEnvoys({ metadata, spec }: DaemonSet | Deployment): RunningEnvoys {
  const template = spec?.template;
  const flags = template?.spec?.initContainers?.flatMap(({ args = [] }) => args) ?? [];
  return {
    mode: XDS_MODES.find((mode) => flags.includes(xdsModeFlag(mode))),
    keepsPorts: flags.some((flag) => flag.startsWith(PORT_FLAG)),
    keptTemplate: metadata.annotations?.[KEPT_TEMPLATE],
    images: template ? imagesOf(template) : [],
  };
}

export function xdsModeFlag(mode: XdsMode): string {
  return FLAG + mode;
}

/** The flags for a template that has none of them yet. */
export function chooseFlags(
  given: XdsMode | undefined,
  running: RunningEnvoys | undefined,
  template: PodTemplateSpec,
): ChosenFlags {
  const wanted = { mode: given ?? 'delta-ads', keepsPorts: true, annotations: {} };
  if (!running || (running.mode !== undefined && running.keepsPorts)) return wanted;
  if (given !== undefined && given !== (running.mode ?? 'sotw')) return wanted;
  const hash = hexHash(JSON.stringify(template)).slice(0, 32);
  const { keptTemplate, images } = running;
  // The first time nothing but its images can be compared: the server completes all other fields.
  const isSame = keptTemplate === undefined ? images.join() === imagesOf(template).join() : keptTemplate === hash;
  if (!isSame) return wanted;
  return { mode: running.mode, keepsPorts: running.keepsPorts, annotations: { [KEPT_TEMPLATE]: hash } };
}

function imagesOf({ spec }: PodTemplateSpec): string[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ image = '' }) => image);
}
