import type { Origin } from './origin.ts';

/** A certificate that Envoy shows, authorities that it trusts, or a key that it uses; by a name that stays when it is renewed. */
export type NamedSecret = Certificate | Authorities | SecretKey;

export interface Certificate {
  readonly kind: 'certificate';
  readonly name: string;
  readonly chain: Content;
  readonly key: Content;
  readonly origin: Origin;
}

export interface Authorities {
  readonly kind: 'authorities';
  readonly name: string;
  readonly certificates: Content;
  readonly origin: Origin;
}

/** Bytes that only Envoy and another party know. */
export interface SecretKey {
  readonly kind: 'key';
  readonly name: string;
  readonly content: Buffer;
  readonly origin: Origin;
}

/** Bytes, or the path of a file in Envoy's pod. */
export type Content = Buffer | { readonly file: string };
