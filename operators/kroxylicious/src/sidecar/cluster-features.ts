// What the cluster can do for a sidecar, by its version; feature gates that the user names win over it.

export interface ClusterFeatures {
  /** Init containers with restartPolicy Always: they begin before the containers of the pod, and end after them. */
  readonly nativeSidecars: boolean;
  /** Volumes of images: the jars of plugins are mounted as they are. */
  readonly imageVolumes: boolean;
}

export type FeatureGates = Readonly<Record<string, boolean>>;

/** The first minor of Kubernetes 1 that has it on by default. */
const SINCE = { nativeSidecars: 29, imageVolumes: 35 };

/** Of a version that is not known the features are those of an old one. */
export function clusterFeatures(
  version: { readonly major?: string; readonly minor?: string } | undefined,
  gates: FeatureGates = {},
): ClusterFeatures {
  const major = numberIn(version?.major);
  const minor = numberIn(version?.minor);
  const has = (since: number) => major > 1 || (major === 1 && minor >= since);
  return {
    nativeSidecars: gates['SidecarContainers'] ?? has(SINCE.nativeSidecars),
    imageVolumes: gates['ImageVolume'] ?? has(SINCE.imageVolumes),
  };
}

/** `SidecarContainers=true,ImageVolume=false`; undefined when it is none. */
export function parseFeatureGates(text: string): FeatureGates | undefined {
  const gates: Record<string, boolean> = {};
  for (const entry of text.split(',')) {
    if (entry.trim() === '') continue;
    const match = /^\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(true|false)\s*$/i.exec(entry);
    if (match?.[1] === undefined) return undefined;
    gates[match[1]] = match[2]?.toLowerCase() === 'true';
  }
  return gates;
}

/** `35+` of a provider is 35. */
function numberIn(text = ''): number {
  return Number(/\d+/.exec(text)?.[0] ?? 0);
}
