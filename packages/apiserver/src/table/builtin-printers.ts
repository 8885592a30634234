import { clusterPrinters } from './cluster-printers.ts';
import { networkPrinters } from './network-printers.ts';
import { type Printer, printer } from './printer.ts';
import { workloadPrinters } from './workload-printers.ts';

/** Returns the printer by `plural.group`, the core group without a suffix. A kind without columns of its own shows its age. */
export function builtinPrinter(id: string): Printer {
  return workloadPrinters[id] ?? networkPrinters[id] ?? clusterPrinters[id] ?? createdPrinter;
}

const createdPrinter = printer(['Name', 'Created At:date = metadata.creationTimestamp']);
