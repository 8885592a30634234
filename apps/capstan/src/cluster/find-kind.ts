import type { Discovery, Kind } from '@capstan/kube';
import { nearest } from '@capstan/reconcile/command-line';
import { CliErrors } from '../cli/errors.ts';

/** A kind as people write it: `deployment`, `deploy`, `deployments.apps`. Throws when the cluster has none like it. */
export function findKind(discovery: Discovery, name: string): Kind {
  const found = discovery.find(name);
  if (found !== undefined) return found;
  const names = discovery.kinds.flatMap(({ singular, plural, shortNames }) => [singular, plural, ...shortNames]);
  throw CliErrors.UnknownKind(name, nearest(name, new Set(names)));
}
