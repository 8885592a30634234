// Identities by which rules and entries are recognised. The place alone never counts: people sort and insert.
import { hash } from 'node:crypto';
import { canonicalJson } from '@capstan/kube';

/** Names a rule by its match. */
export function ruleKey(match: unknown): string {
  return hash('sha256', canonicalJson(match ?? null), 'hex').slice(0, 12);
}

/** Names entries by their destination, and counts equal ones. */
export function entryIds(): (namespace: string, name: string, port: unknown) => string {
  const count = counter();
  return (namespace, name, port) =>
    count(`${namespace}/${name}${typeof port === 'number' || typeof port === 'string' ? `:${port}` : ''}`);
}

function counter(): (name: string) => string {
  const seen = new Map<string, number>();
  return (name) => {
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    return times === 1 ? name : `${name}#${times}`;
  };
}
