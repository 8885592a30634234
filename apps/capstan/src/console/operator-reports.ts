// The pages that operators declare, bound to the runtime of the console.
import type { ConsoleReport, WhatIfRequest } from '@capstan/console';
import type { Client, Clock } from '@capstan/kube';
import { askReport, askReportAfter, type Operator, type PreviewChange, type Runtime } from '@capstan/reconcile';

export interface OperatorReportsOptions {
  readonly runtime: Runtime;
  /** Those of the runtime, with the ones that run in programs of their own. */
  readonly operators: readonly Operator[];
  readonly client: Client;
  readonly others: readonly Client[];
  readonly clock: Clock;
  readonly timeoutMs: number;
  changesOf(request: WhatIfRequest, signal: AbortSignal): Promise<readonly PreviewChange[]>;
}

export function operatorReports(options: OperatorReportsOptions): ConsoleReport[] {
  const { runtime, operators, client, others, clock, timeoutMs, changesOf } = options;
  return operators.flatMap(({ name: operator, reports = [] }) =>
    reports.map(
      ({ name, title, isQuestion = false, complete, stepOf, stepKeys }): ConsoleReport => ({
        name,
        operator,
        title,
        isQuestion,
        ...(stepOf && { stepOf }),
        ...(stepKeys && { stepKeys }),
        async body(key, signal) {
          const body = await askReport(runtime, operator, name, key);
          if (body.state !== 'value' || complete === undefined) return body;
          return { state: 'value', value: await complete(body.value, { client, others, clock, signal }) };
        },
        async bodyAfter(key, request, signal) {
          const changes = await changesOf(request, signal);
          const asked = { operator, name, key };
          return askReportAfter(runtime, asked, changes, { clock, signal, factTimeoutMs: timeoutMs });
        },
      }),
    ),
  );
}
