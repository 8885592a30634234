/** What the operator is started with. */
export interface Settings {
  /** The proxy's image. */
  readonly image: string;
  /** A rollout waits until its inputs have not changed for so long. */
  readonly quietMs: number;
  /** What host names of Services end in. */
  readonly clusterDomain: string;
}

export const DEFAULT_SETTINGS: Settings = {
  image: 'quay.io/kroxylicious/proxy:0.23.0',
  quietMs: 2000,
  clusterDomain: 'cluster.local',
};
