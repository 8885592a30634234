/** What the operator is started with. */
export interface Settings {
  /** The image of gateways. */
  readonly image: string;
}

export const DEFAULT_SETTINGS: Settings = { image: 'capstan:0.1.0' };
