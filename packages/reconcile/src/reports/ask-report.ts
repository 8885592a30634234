import { type PreviewChange, type preview, previewWith } from '../preview/index.ts';
import type { Runtime } from '../runtime/index.ts';
import { sinkNameOf } from './report.ts';

/** `none`: there is no such page. `unknown`: something that it reads is not known. */
export type ReportBody =
  | { readonly state: 'value'; readonly value: unknown }
  | { readonly state: 'none' }
  | { readonly state: 'unknown'; readonly waitingFor: readonly string[] };

/** Evaluates a report for a key, between two waves. Rejects where the report itself fails. */
export async function askReport(runtime: Runtime, operator: string, name: string, key: string): Promise<ReportBody> {
  const derivation = derivationOf(runtime, operator, name);
  if (derivation === undefined) return { state: 'none' };
  return bodyOf(await runtime.engine.between(() => runtime.engine.fork().evaluateKey(derivation, key)));
}

/** The same as it would be after changes and all that follows from them. Nothing is written. */
export async function askReportAfter(
  runtime: Runtime,
  { operator, name, key }: { operator: string; name: string; key: string },
  changes: readonly PreviewChange[],
  fetching: Parameters<typeof preview>[2],
): Promise<ReportBody> {
  const derivation = derivationOf(runtime, operator, name);
  if (derivation === undefined) return { state: 'none' };
  const { answer } = await previewWith(runtime, changes, (fork) => fork.evaluateKey(derivation, key), fetching);
  return bodyOf(answer);
}

function derivationOf(runtime: Runtime, operator: string, name: string) {
  const wanted = sinkNameOf(name);
  return runtime.sinks.find(
    (one) => one.sink.name === wanted && one.operator.name === operator && one.world.name === '',
  )?.derivation;
}

type Settled = ReturnType<ReturnType<Runtime['engine']['fork']>['evaluateKey']>;

function bodyOf(settled: Settled): ReportBody {
  if (settled === undefined) return { state: 'unknown', waitingFor: [] };
  if (settled.state === 'error') throw settled.error;
  if (settled.state === 'suspended') return { state: 'unknown', waitingFor: settled.waitingFor };
  return settled.value === undefined ? { state: 'none' } : { state: 'value', value: settled.value };
}
