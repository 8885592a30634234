// From error pages of the model to the configuration of Envoy's filter for custom responses.
import { type Envoy, typed } from '../../envoy/index.ts';
import type { ErrorPage } from '../../model/policy.ts';

export function errorPagesMessage(pages: readonly ErrorPage[]): Envoy.Any {
  return typed('envoy.extensions.filters.http.custom_response.v3.CustomResponse', {
    custom_response_matcher: pages.length > 0 ? { matcher_list: { matchers: pages.map(pageMatcher) } } : undefined,
  });
}

function pageMatcher(page: ErrorPage): Envoy.XdsMatcherMatcherListFieldMatcher {
  const [first, ...more] = page.statuses.map(statusPredicate);
  const status = more.length > 0 && first ? { or_matcher: { predicate: [first, ...more] } } : first;
  return {
    predicate: page.replacesServices || !status ? status : { and_matcher: { predicate: [status, IS_ANSWER_OF_ENVOY] } },
    on_match: { action: { name: 'page', typed_config: answerMessage(page) } },
  };
}

function statusPredicate(status: number): Envoy.XdsMatcherMatcherListPredicate {
  return {
    single_predicate: {
      input: { name: 'status', typed_config: typed('envoy.type.matcher.v3.HttpResponseStatusCodeMatchInput') },
      value_match: { exact: String(status) },
    },
  };
}

const IS_ANSWER_OF_ENVOY: Envoy.XdsMatcherMatcherListPredicate = {
  single_predicate: {
    input: { name: 'local_reply', typed_config: typed('envoy.type.matcher.v3.HttpResponseLocalReplyMatchInput') },
    value_match: { exact: 'true' },
  },
};

function answerMessage({ body, contentType, status }: ErrorPage): Envoy.Any {
  return typed('envoy.extensions.http.custom_response.local_response_policy.v3.LocalResponsePolicy', {
    body: { inline_string: body },
    status_code: status,
    response_headers_to_add: [
      { header: { key: 'content-type', value: contentType }, append_action: 'OVERWRITE_IF_EXISTS_OR_ADD' },
    ],
    // Logs keep the cause of the error.
    preserve_response_code_details: true,
  });
}
