import type { KubeObject } from '@capstan/kube';
import { clusterPrinters } from './cluster-printers.ts';
import { networkPrinters } from './network-printers.ts';
import { type Printer, printer } from './printer.ts';
import { nameOf } from './text.ts';
import { workloadPrinters } from './workload-printers.ts';

/** By `plural.group`, the core group without a suffix; what has no columns of its own shows when it was created. */
export function builtinPrinter(id: string): Printer {
  return workloadPrinters[id] ?? networkPrinters[id] ?? clusterPrinters[id] ?? createdPrinter;
}

const createdPrinter = printer<KubeObject>(['Name', 'Created At:date'], (object) => [
  nameOf(object),
  object.metadata.creationTimestamp ?? null,
]);
