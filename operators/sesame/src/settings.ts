import { validateDns1123Subdomain } from '@capstan/kube/cluster';

/** What the operator is started with. */
export interface Settings {
  /** The image of Sesame, which also has the shutdown manager and the bootstrap command. */
  readonly image: string;
  readonly envoyImage: string;
  /** What host names of Services end in. */
  readonly clusterDomain: string;
  /** Milliseconds since the epoch: for certificates. */
  now(): number;
}

export const DEFAULT_IMAGE = 'capstan:0.1.0';
export const DEFAULT_ENVOY_IMAGE = 'docker.io/envoyproxy/envoy:distroless-v1.39.0';

export function defaultSettings(): Settings {
  return {
    image: DEFAULT_IMAGE,
    envoyImage: DEFAULT_ENVOY_IMAGE,
    clusterDomain: 'cluster.local',
    now: () => Date.now(),
  };
}

export interface OperatorFlagFault {
  readonly flag: string;
  /** Undefined when there is no such flag. */
  readonly remedy: string | undefined;
}

/** The settings that flags ask for: `--sesame.image=…` of Capstan's commands, `--image=…` of `sesame operator`. */
export function settingsFromFlags(
  flags: Readonly<Record<string, string>>,
): Partial<Settings> | { readonly fault: OperatorFlagFault } {
  const settings: { -readonly [Name in keyof Settings]?: Settings[Name] } = {};
  for (const [flag, value] of Object.entries(flags)) {
    if (flag === 'image' && value !== '') settings.image = value;
    else if (flag === 'envoy-image' && value !== '') settings.envoyImage = value;
    else if (flag === 'image' || flag === 'envoy-image')
      return { fault: { flag, remedy: 'give the name of an image' } };
    else if (flag !== 'cluster-domain') return { fault: { flag, remedy: undefined } };
    else if (validateDns1123Subdomain(value).length > 0)
      return { fault: { flag, remedy: 'use a DNS name, such as cluster.local' } };
    else settings.clusterDomain = value;
  }
  return settings;
}
