// How Envoy subscribes. New instances use one stream of differences. A workload that was created before has no flag for it, and its pods
// subscribe to whole states: an upgrade alone must not restart them, so they change with the next change of their pod template.
import type { DaemonSet, Deployment, PodTemplateSpec } from '@capstan/kube';
import { hexHash } from '../envoy/index.ts';

export const XDS_MODES = ['delta-ads', 'sotw'] as const;
export type XdsMode = (typeof XDS_MODES)[number];

/** What is known of the workload that runs. */
export interface RunningEnvoys {
  /** Undefined: it was created by a version that had no choice, and subscribes to whole states. */
  readonly mode: XdsMode | undefined;
  /** Of the template without a mode, for which it stays as it is; undefined when it was not looked at yet. */
  readonly keptTemplate: string | undefined;
  readonly images: readonly string[];
}

export interface ChosenMode {
  /** Undefined: the template stays without a flag. */
  readonly mode: XdsMode | undefined;
  readonly annotations: Readonly<Record<string, string>>;
}

const FLAG = '--xds-mode=';
const KEPT_TEMPLATE = 'projectsesame.io/template-without-xds-mode';

export function runningEnvoys({ metadata, spec }: DaemonSet | Deployment): RunningEnvoys {
  const template = spec?.template;
  const flag = template?.spec?.initContainers?.flatMap(({ args = [] }) => args).find((each) => each.startsWith(FLAG));
  return {
    mode: XDS_MODES.find((mode) => flag === xdsModeFlag(mode)),
    keptTemplate: metadata.annotations?.[KEPT_TEMPLATE],
    images: template ? imagesOf(template) : [],
  };
}

export function xdsModeFlag(mode: XdsMode): string {
  return FLAG + mode;
}

/** The mode for a template that has no flag for it yet. */
export function chooseMode(
  given: XdsMode | undefined,
  running: RunningEnvoys | undefined,
  template: PodTemplateSpec,
): ChosenMode {
  const wanted = { mode: given ?? 'delta-ads', annotations: {} };
  if (!running || running.mode !== undefined || given === 'delta-ads') return wanted;
  const hash = hexHash(JSON.stringify(template)).slice(0, 32);
  const { keptTemplate, images } = running;
  // The first time nothing but its images can be compared: the server completes all other fields.
  const isSame = keptTemplate === undefined ? images.join() === imagesOf(template).join() : keptTemplate === hash;
  return isSame ? { mode: undefined, annotations: { [KEPT_TEMPLATE]: hash } } : wanted;
}

function imagesOf({ spec }: PodTemplateSpec): string[] {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].map(({ image = '' }) => image);
}
