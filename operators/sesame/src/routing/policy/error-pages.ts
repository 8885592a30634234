// Error pages: the answer to a client where Envoy or a service answers with an error.
import { DEFAULT_CONTENT_TYPE, type ErrorPageSpec, errorPageProblems } from '../../configuration/index.ts';
import type { HTTPProxy } from '../../kinds/http-proxy.ts';
import type { Origin } from '../../model/origin.ts';
import type { ErrorPage } from '../../model/policy.ts';
import { namesOf, type Reporter } from '../../result.ts';

/** Returns the pages of a host. A page with a mistake is reported and left out, and the host is served. */
export function hostErrorPages(root: HTTPProxy, reporter: Reporter): ErrorPage[] {
  const pages = root.spec.virtualhost?.errorPages ?? [];
  const problems = errorPageProblems(pages);
  for (const { at, message } of problems)
    reporter.error('VirtualHostError', 'ErrorPageNotValid', `spec.virtualhost.errorPages${at}: ${message}`);
  const origin = { kind: 'HTTPProxy', ...namesOf(root), path: 'spec.virtualhost.errorPages' };
  const isUsable = (index: number) => problems.every(({ page }) => page !== index);
  return pages.flatMap((page, index) => (isUsable(index) ? [errorPage(page, index, origin)] : []));
}

/** `origin`: the list that the page is in. */
export function errorPage(spec: ErrorPageSpec, index: number, origin: Origin): ErrorPage {
  return {
    statuses: spec.statusCodes,
    replacesServices: spec.replaceServiceResponses === true,
    body: spec.body ?? '',
    contentType: spec.contentType ?? DEFAULT_CONTENT_TYPE,
    status: spec.responseStatusCode,
    origin: { ...origin, path: `${origin.path}[${index}]` },
  };
}
