import { HealthErrors } from '../errors.ts';

export interface ListenAddress {
  /** Undefined: every interface. */
  host: string | undefined;
  /** 0: any free port. */
  port: number;
}

/** `host:port`, `[v6]:port`, or `:port` for every interface. */
export function parseListenAddress(text: string): ListenAddress {
  const match = /^(?:\[([0-9a-fA-F:.]+(?:%[^\]]+)?)\]|([^:[\]]*)):(\d{1,5})$/.exec(text.trim());
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) throw HealthErrors.BadAddress(text);
  return { host: match[1] ?? (match[2] || undefined), port };
}

export function formatListenAddress(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
