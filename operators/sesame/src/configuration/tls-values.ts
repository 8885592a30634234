// The TLS parameters that Envoy (BoringSSL) accepts.

export const CIPHERS: ReadonlySet<string> = new Set([
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES128-SHA',
  'ECDHE-RSA-AES128-SHA',
  'AES128-GCM-SHA256',
  'AES128-SHA',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-AES256-SHA',
  'ECDHE-RSA-AES256-SHA',
  'AES256-GCM-SHA384',
  'AES256-SHA',
]);

export const CURVES: ReadonlySet<string> = new Set([
  'X25519',
  'P-256',
  'P-384',
  'P-521',
  'X25519MLKEM768',
  'MLKEM1024',
]);

/** Members of an entry that are not ciphers; an entry is a cipher or a group `[A|B]`. */
export function unknownCiphers(entry: string): string[] {
  const group = /^\[(.*)\]$/s.exec(entry)?.[1];
  const members = group === undefined ? [entry] : group.split('|');
  return members.filter((member) => !CIPHERS.has(member));
}
