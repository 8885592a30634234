import {
  type AdmissionServiceReference,
  type MutatingWebhook,
  type MutatingWebhookConfiguration,
  type RuleWithOperations,
  validateDns1035Label,
  validateDns1123Subdomain,
} from '@capstan/kube';
import { fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { type Errors, fieldDuplicate, labelSelector } from './rules.ts';

/** Checks both kinds of configuration: fields of the other kind are absent. */
export function webhooks(errors: Errors, { webhooks: list }: MutatingWebhookConfiguration): void {
  const names = new Set<string>();
  for (const [index, webhook] of (list ?? []).entries()) {
    const at = `webhooks[${index}]`;
    oneWebhook(errors, at, webhook);
    // Required by the type, and all the same absent where a user forgot it.
    const { admissionReviewVersions = [], name = '' } = webhook as Partial<MutatingWebhook>;
    reviewVersions(errors, `${at}.admissionReviewVersions`, admissionReviewVersions);
    if (names.has(name)) errors.push(fieldDuplicate(`${at}.name`, name));
    if (name !== '') names.add(name);
  }
}

function oneWebhook(errors: Errors, at: string, webhook: Partial<MutatingWebhook>): void {
  const { name = '', sideEffects, timeoutSeconds = 10 } = webhook;
  const problems = validateDns1123Subdomain(name);
  if (name === '') errors.push(fieldRequired(`${at}.name`));
  else if (problems.length > 0) errors.push(fieldInvalid(`${at}.name`, name, problems.join(',')));
  else if (name.split('.').length < 3) {
    const detail = 'should be a domain with at least three segments separated by dots';
    errors.push(fieldInvalid(`${at}.name`, name, detail));
  }
  for (const [index, rule] of (webhook.rules ?? []).entries()) operationsRule(errors, `${at}.rules[${index}]`, rule);
  const supported = (field: string, value: string | undefined, choices: readonly string[]) => {
    if (value === undefined || choices.includes(value)) return;
    errors.push(fieldNotSupported(`${at}.${field}`, value, choices));
  };
  supported('failurePolicy', webhook.failurePolicy, ['Fail', 'Ignore']);
  supported('matchPolicy', webhook.matchPolicy, ['Equivalent', 'Exact']);
  if (sideEffects === undefined) {
    errors.push(fieldRequired(`${at}.sideEffects`, 'must specify one of None, NoneOnDryRun'));
  }
  supported('sideEffects', sideEffects, ['None', 'NoneOnDryRun']);
  if (timeoutSeconds < 1 || timeoutSeconds > 30) {
    const detail = 'the timeout value must be between 1 and 30 seconds';
    errors.push(fieldInvalid(`${at}.timeoutSeconds`, timeoutSeconds, detail));
  }
  labelSelector(errors, `${at}.namespaceSelector`, webhook.namespaceSelector);
  labelSelector(errors, `${at}.objectSelector`, webhook.objectSelector);
  supported('reinvocationPolicy', webhook.reinvocationPolicy, ['IfNeeded', 'Never']);
  webhookClient(errors, `${at}.clientConfig`, webhook.clientConfig ?? {});
}

/** Where a webhook listens: at a URL, or behind a Service. */
export function webhookClient(
  errors: Errors,
  at: string,
  { url, service }: { url?: string; service?: Partial<AdmissionServiceReference> },
): void {
  if ((url === undefined) === (service === undefined)) {
    errors.push(fieldRequired(at, 'exactly one of url or service is required'));
  } else if (url !== undefined) hookUrl(errors, `${at}.url`, url);
  else if (service) hookService(errors, `${at}.service`, service);
}

export function reviewVersions(
  errors: Errors,
  at: string,
  versions: readonly string[],
  missing = 'must specify one of v1, v1beta1',
): void {
  if (versions.length === 0) {
    errors.push(fieldRequired(at, missing));
    return;
  }
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const isKnown = seen.has(version);
    seen.add(version);
    if (isKnown) errors.push(fieldInvalid(`${at}[${index}]`, version, 'duplicate version'));
    else {
      for (const problem of validateDns1035Label(version)) {
        errors.push(fieldInvalid(`${at}[${index}]`, version, problem));
      }
    }
  }
  if (!versions.some((one) => one === 'v1' || one === 'v1beta1')) {
    errors.push(fieldInvalid(at, versions, 'must include at least one of v1, v1beta1'));
  }
}

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const SCOPES = ['*', 'Cluster', 'Namespaced'];

/** A rule with operations, of a webhook or a policy. */
export function operationsRule(errors: Errors, at: string, rule: RuleWithOperations): void {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule;
  const several = (field: string, list: readonly string[], what: string) => {
    if (list.length === 0) errors.push(fieldRequired(`${at}.${field}`));
    if (list.length > 1 && list.includes('*')) {
      errors.push(fieldInvalid(`${at}.${field}`, list, `if '*' is present, must not specify other ${what}`));
    }
  };
  several('operations', operations, 'operations');
  for (const [index, operation] of operations.entries()) {
    if (!OPERATIONS.includes(operation)) {
      errors.push(fieldNotSupported(`${at}.operations[${index}]`, operation, OPERATIONS));
    }
  }
  several('apiGroups', apiGroups, 'API groups');
  several('apiVersions', apiVersions, 'API versions');
  for (const [index, version] of apiVersions.entries()) {
    if (version === '') errors.push(fieldRequired(`${at}.apiVersions[${index}]`));
  }
  hookResources(errors, `${at}.resources`, resources);
  if (scope !== undefined && !SCOPES.includes(scope)) errors.push(fieldNotSupported(`${at}.scope`, scope, SCOPES));
}

function hookResources(errors: Errors, at: string, resources: readonly string[]): void {
  if (resources.length === 0) errors.push(fieldRequired(at));
  const wholes = new Set<string>();
  const everywhere = new Set<string>();
  let isPlain = false;
  for (const [index, resource] of resources.entries()) {
    const place = `${at}[${index}]`;
    if (resource === '') {
      errors.push(fieldRequired(place));
      continue;
    }
    const [name = '', ...rest] = resource.split('/');
    if (rest.length === 0) {
      isPlain = resource !== '*';
      continue;
    }
    const sub = rest.join('/');
    const refuse = (what: string) =>
      errors.push(fieldInvalid(place, resource, `if '${what}' is present, must not specify ${resource}`));
    if (wholes.has(name)) refuse(`${name}/*`);
    if (everywhere.has(sub)) refuse(`*/${sub}`);
    if (sub === '*') wholes.add(name);
    if (name === '*') everywhere.add(sub);
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(fieldInvalid(at, resources, "if '*/*' is present, must not specify other resources"));
  }
  if (resources.includes('*') && isPlain) {
    const detail = "if '*' is present, must not specify other resources without subresources";
    errors.push(fieldInvalid(at, resources, detail));
  }
}

const FORM = '; desired format: https://host[/path]';

function hookUrl(errors: Errors, at: string, text: string): void {
  const [, scheme = '', rest = ''] = /^(?:([a-z][a-z0-9+.-]*):)?(.*)$/is.exec(text) ?? [];
  const [, authority = '', path = ''] = /^(?:\/\/([^/?#]*))?(.*)$/s.exec(rest) ?? [];
  const [, user, host = ''] = /^(?:(.*)@)?(.*)$/.exec(authority) ?? [];
  const [, query = '', fragment = ''] = /^[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(path) ?? [];
  if (scheme !== 'https') {
    errors.push(fieldInvalid(at, scheme, `'https' is the only allowed URL scheme${FORM}`));
  }
  if (host === '') errors.push(fieldInvalid(at, host, `host must be specified${FORM}`));
  if (user !== undefined) errors.push(fieldInvalid(at, user, 'user information is not permitted in the URL'));
  if (fragment !== '') errors.push(fieldInvalid(at, fragment, 'fragments are not permitted in the URL'));
  if (query !== '') errors.push(fieldInvalid(at, query, 'query parameters are not permitted in the URL'));
}

function hookService(errors: Errors, at: string, service: Partial<AdmissionServiceReference>): void {
  const { name, namespace, port = 443, path = '' } = service;
  // The two are reported in each other's place, as Kubernetes does.
  if (!namespace) errors.push(fieldRequired(`${at}.name`));
  if (!name) errors.push(fieldRequired(`${at}.namespace`));
  if (port < 1 || port > 65_535) {
    errors.push(fieldInvalid(`${at}.port`, port, 'port is not valid: must be between 1 and 65535, inclusive'));
  }
  if (path === '' || path === '/') return;
  const refuse = (detail: string) => errors.push(fieldInvalid(`${at}.path`, path, detail));
  if (path === '//') {
    refuse('segment[0] may not be empty');
    return;
  }
  if (!path.startsWith('/')) refuse("must start with a '/'");
  for (const [index, step] of path.slice(1).replace(/\/$/, '').split('/').entries()) {
    if (step === '') refuse(`segment[${index}] may not be empty`);
    else for (const problem of validateDns1123Subdomain(step)) refuse(`segment[${index}]: ${problem}`);
  }
}
