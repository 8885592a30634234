import type { Verify } from './credentials/verifier.ts';
import { createVerify } from './credentials/verify.ts';
import { VERSION } from './discover/version.ts';

/** What the operator is started with. */
export interface Settings {
  /** Of the discoverers; it has the program `gimbal`. */
  readonly image: string;
  /** Whether discoverers write Endpoints beside slices, for whoever does not read slices. */
  readonly writeEndpoints: boolean;
  /** How credentials are tried out. */
  readonly verify: Verify;
}

export function defaultSettings(): Settings {
  return { image: DEFAULT_IMAGE, writeEndpoints: false, verify: createVerify() };
}

export const DEFAULT_IMAGE = `capstan:${VERSION}`;
