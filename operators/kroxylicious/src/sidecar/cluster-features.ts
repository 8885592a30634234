// The features of the cluster that a sidecar uses, by its version. Feature gates from the user override the version.

export interface ClusterFeatures {
  /** Init containers with restartPolicy Always. They start before the containers of the pod and end after them. */
  readonly nativeSidecars: boolean;
  /** Image volumes, which mount the jars of plugins directly. */
  readonly imageVolumes: boolean;
}

export type FeatureGates = Readonly<Record<string, boolean>>;

/** The first minor version of Kubernetes 1 that has the feature enabled by default. */
const SINCE = { nativeSidecars: 29, imageVolumes: 35 };

/** Returns the features of a version. An unknown version has the features of an old one. */
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

/** Parses `SidecarContainers=true,ImageVolume=false`. Returns undefined for an invalid text. */
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

/** Parses a version of a provider: `35+` is 35. */
function numberIn(text = ''): number {
  return Number(/\d+/.exec(text)?.[0] ?? 0);
}
