// Error pages are the same in an HTTPProxy and in the configuration: here are their rules.
import { type ProblemReason, shown } from './problem.ts';

/** As HTTPProxies and the configuration have it. */
export interface ErrorPageSpec {
  readonly statusCodes: readonly number[];
  readonly body?: string | undefined;
  readonly contentType?: string | undefined;
  readonly responseStatusCode?: number | undefined;
  readonly replaceServiceResponses?: boolean | undefined;
}

export interface ErrorPageProblem {
  readonly page: number;
  /** After the path of the list: `[0].statusCodes[1]`. */
  readonly at: string;
  readonly reason: ProblemReason;
  readonly message: string;
}

export const DEFAULT_CONTENT_TYPE = 'text/html; charset=utf-8';

/** Pages are part of the configuration of every Envoy. */
export const MAX_PAGE_BYTES = 16_384;

const CONTENT_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w.+-]+)*$/;

/** Returns the problems of the pages of one list, in order. */
export function errorPageProblems(pages: readonly ErrorPageSpec[]): ErrorPageProblem[] {
  const problems: ErrorPageProblem[] = [];
  const owners = new Map<number, number>();
  for (const [page, { statusCodes = [], body = '', contentType, responseStatusCode }] of pages.entries()) {
    const add = (field: string, reason: ProblemReason, message: string) =>
      problems.push({ page, at: `[${page}].${field}`, reason, message });
    if (statusCodes.length === 0) add('statusCodes', 'Required', 'must not be empty; name the statuses of the page');
    for (const [index, status] of statusCodes.entries()) {
      const owner = owners.get(status);
      if (!(status >= 400 && status <= 599))
        add(
          `statusCodes[${index}]`,
          'OutOfRange',
          `must be the status of an error (${status}); use one from 400 to 599`,
        );
      else if (owner !== undefined)
        add(
          `statusCodes[${index}]`,
          'Duplicate',
          `has a page already (${status}, page [${owner}]); remove one of them`,
        );
      else owners.set(status, page);
    }
    const size = Buffer.byteLength(body);
    if (size > MAX_PAGE_BYTES)
      add(
        'body',
        'OutOfRange',
        `must have at most ${MAX_PAGE_BYTES} bytes (${size}); shorten it, or let a Service answer`,
      );
    if (contentType !== undefined && !CONTENT_TYPE.test(contentType))
      add('contentType', 'InvalidValue', `must be a media type (${shown(contentType)}); write one such as text/html`);
    if (responseStatusCode !== undefined && !(responseStatusCode >= 200 && responseStatusCode <= 599))
      add('responseStatusCode', 'OutOfRange', `must be a status (${responseStatusCode}); use one from 200 to 599`);
  }
  return problems;
}
