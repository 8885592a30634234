import { type Refusal, refuse } from '@capstan/reconcile/command-line';

/** Parses HOST:PORT. An absent host means 127.0.0.1, so that leaving it out does not open a laptop to the network. */
export function localAddress(text: string): { host: string; port: number } | Refusal {
  const [, bracketed, plain, digits = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) {
    return refuse('write HOST:PORT, as in 127.0.0.1:6443, or :0 for any free port');
  }
  const host = bracketed ?? plain ?? '';
  return { host: host === '' ? '127.0.0.1' : host, port };
}
