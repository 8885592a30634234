import { isRefusedChange } from '@capstan/kube/cluster';
import { PlanErrors } from '../errors.ts';

/** Runs a computation of an author. An attempt to change a read value becomes an error with the author's function and the remedy. */
export function explainingChanges<R>(name: string, compute: () => R): R {
  try {
    return compute();
  } catch (error) {
    throw isRefusedChange(error) ? PlanErrors.ChangedShared(name, error) : error;
  }
}
