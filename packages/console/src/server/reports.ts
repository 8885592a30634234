// The pages that operators declare: their list, their bodies, and the same after a change. A body that depends on something that is not
// known is answered as such, never as empty.
import { type Clock, CodedError } from '@capstan/kube';
import type { ReportBody } from '@capstan/reconcile';
import type { ExplainRequest, ReportsAnswer, UnknownAnswer, WhatIfAnswer, WhatIfRequest } from '../api-types.ts';
import { rolesToRead } from './missing-rights.ts';
import { createReportSteps } from './report-steps.ts';
import type { ConsoleReport, ConsoleSource } from './source.ts';

export interface ReportsResponse {
  readonly status: number;
  readonly body: unknown;
}

export interface Reports {
  list(): ReportsAnswer;
  /** Objects changed. */
  changed(): void;
  close(): void;
  /** By the path behind `/api/`; undefined where no report has it. */
  answer(path: string, query: URLSearchParams, signal: AbortSignal): Promise<ReportsResponse | undefined>;
  whatIf(path: string, body: unknown, signal: AbortSignal): Promise<ReportsResponse | undefined>;
  /** Asks the report `explain/NAMESPACE/NAME` about a request. */
  explain(body: unknown, signal: AbortSignal): Promise<ReportsResponse>;
}

const EXPLAIN = 'explain/';

export function createReports(source: ConsoleSource, clock: Clock): Reports {
  const all = () => source.reports?.() ?? [];
  const steps = createReportSteps(clock, all);

  /** The report with the longest name that the path begins with, and the rest of the path. */
  function find(path: string): { readonly report: ConsoleReport; readonly key: string } | undefined {
    const found = all()
      .filter(({ name, isQuestion }) => !isQuestion && (path === name || path.startsWith(`${name}/`)))
      .toSorted((a, b) => b.name.length - a.name.length)[0];
    return found && { report: found, key: path.slice(found.name.length + 1) };
  }

  const shown = (body: Exclude<ReportBody, { state: 'none' }>) =>
    body.state === 'value' ? body.value : unknownAnswer(source, body.waitingFor);

  return {
    changed: () => steps.changed(),
    close: () => steps.close(),
    list: () => ({
      reports: all()
        .filter(({ isQuestion }) => !isQuestion)
        .map(({ name, operator, title }) => ({ name, operator, title, path: `/api/${name}` })),
    }),
    async answer(path, query, signal) {
      const found = find(path);
      if (found === undefined) return undefined;
      const hasSteps = found.report.stepOf !== undefined && found.key !== '';
      const key = query.size === 0 || hasSteps ? found.key : `${found.key}?${query.toString()}`;
      const body = await found.report.body(key, signal);
      if (body.state === 'none') return missing(path);
      if (!hasSteps || body.state !== 'value') return { status: 200, body: shown(body) };
      return { status: 200, body: steps.answer(found, body.value, query.get('step') ?? undefined) };
    },
    async whatIf(path, sent, signal) {
      const found = find(path);
      if (found === undefined) return undefined;
      const change = changeOf(sent);
      if (change === undefined)
        return {
          status: 400,
          body: { message: 'the body must have manifests, a text, and may have delete, a boolean' },
        };
      try {
        const after = await found.report.bodyAfter(found.key, change, signal);
        const before = await found.report.body(found.key, signal);
        if (before.state === 'none' || after.state === 'none') return missing(path);
        const answer: WhatIfAnswer<unknown> = { before: shown(before), after: shown(after) };
        return { status: 200, body: answer };
      } catch (error) {
        if (error instanceof CodedError) return { status: 422, body: { message: error.message } };
        throw error;
      }
    },
    async explain(sent, signal) {
      const request = explainOf(sent);
      if (request === undefined)
        return {
          status: 400,
          body: { message: 'the body must have host and path, texts; headers are an object of texts' },
        };
      const { instance, ...asked } = request;
      const questions = all().filter(({ name, isQuestion }) => isQuestion && name.startsWith(EXPLAIN));
      const report = instance === undefined ? questions[0] : questions.find(({ name }) => name === EXPLAIN + instance);
      if (report === undefined) return missing(instance === undefined ? 'a Sesame' : `a Sesame ${instance}`);
      const body = await report.body(JSON.stringify(asked), signal);
      return body.state === 'none' ? missing('an answer') : { status: 200, body: shown(body) };
    },
  };
}

function missing(what: string): ReportsResponse {
  return { status: 404, body: { message: `there is no ${what}` } };
}

/** One sentence for each thing that is not known, and the Role to request where a right is missing. */
function unknownAnswer(source: ConsoleSource, waitingFor: readonly string[]): UnknownAnswer {
  const role = rolesToRead(source.runtime, waitingFor);
  const unknown = waitingFor.map((one) => `${nameOfAwaited(one)} is not known yet`);
  return {
    unknown: unknown.length === 0 ? ['the page is not computed yet'] : unknown,
    ...(role !== undefined && { role }),
  };
}

/** `Pod[*]` is the list of a kind, `Secret/default/token` one object. */
function nameOfAwaited(text: string): string {
  const [, list] = /^([A-Z][\w.-]*)\[\*\]$/.exec(text) ?? [];
  if (list !== undefined) return `the list of ${list.split('.')[0]} objects`;
  const [, kind = '', key] = /^([A-Z][\w.-]*)\/(.+)$/.exec(text) ?? [];
  return key === undefined ? text : `${kind.split('.')[0]} ${key}`;
}

function changeOf(body: unknown): WhatIfRequest | undefined {
  const { manifests, delete: isDeletion } = (body ?? {}) as { manifests?: unknown; delete?: unknown };
  if (typeof manifests !== 'string' || (isDeletion !== undefined && typeof isDeletion !== 'boolean')) return undefined;
  return { manifests, ...(isDeletion !== undefined && { delete: isDeletion }) };
}

const MAX_TEXT = 8192;

function explainOf(body: unknown): ExplainRequest | undefined {
  const { instance, host, path, method, headers } = (body ?? {}) as Record<string, unknown>;
  const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= MAX_TEXT;
  const isOptional = (value: unknown): value is string | undefined => value === undefined || isText(value);
  if (!isText(host) || !isText(path) || !path.startsWith('/') || host === '' || /[/\s]/.test(host)) return undefined;
  if (!isOptional(instance) || !isOptional(method)) return undefined;
  const named = headers === undefined ? {} : headers;
  if (typeof named !== 'object' || named === null || !Object.values(named).every(isText)) return undefined;
  return {
    host,
    path,
    ...(instance !== undefined && { instance }),
    ...(method !== undefined && { method }),
    ...(headers !== undefined && { headers: named as Record<string, string> }),
  };
}
