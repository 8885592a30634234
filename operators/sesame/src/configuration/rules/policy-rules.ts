// Rules for the settings of every route: headers, rate limits, authorisation, tracing, features.
import { compileRegexp, isJsonObject, type JsonObject } from '@capstan/kube/values';
import { shown } from '../problem.ts';
import type { ValidationInput } from '../validate.ts';
import { duplicates } from './controller-rules.ts';
import type { Findings } from './findings.ts';

/** Features that can be switched on: none at present. */
const FEATURES: readonly string[] = [];

export function policyRules(input: ValidationInput, findings: Findings): void {
  headers(input, findings);
  rateLimit(input, findings);
  authorisation(input, findings);
  tracing(input, findings);
  for (const [index, feature] of (input.value.featureFlags ?? []).entries())
    if (!FEATURES.includes(feature.split('=')[0] ?? ''))
      findings.error(`featureFlags[${index}]`, 'NotSupported', `is not a known feature (${shown(feature)}); remove it`);
}

function headers({ value: { policy } }: ValidationInput, findings: Findings): void {
  for (const side of ['requestHeaders', 'responseHeaders'] as const) {
    const { set = {}, remove = [] } = policy[side] ?? {};
    for (const [name, value] of Object.entries(set)) {
      findings.headerName(`policy.${side}.set[${name}]`, name);
      findings.headerValue(`policy.${side}.set[${name}]`, value);
      if (side === 'responseHeaders' && name.toLowerCase() === 'host')
        findings.error(`policy.${side}.set[${name}]`, 'NotSupported', 'cannot be set on responses; remove it');
    }
    caseDuplicates(`policy.${side}.set`, Object.keys(set), findings);
    for (const [index, name] of remove.entries()) {
      findings.headerName(`policy.${side}.remove[${index}]`, name);
      if (side === 'requestHeaders' && name.toLowerCase() === 'host')
        findings.error(
          `policy.${side}.remove[${index}]`,
          'NotSupported',
          'cannot be removed from requests; set it, or leave it',
        );
    }
    const removed = new Set(remove.map((name) => name.toLowerCase()));
    for (const name of Object.keys(set))
      if (removed.has(name.toLowerCase()))
        findings.error(`policy.${side}.set[${name}]`, 'Conflict', 'is also in remove; remove it from one of them');
  }
}

function caseDuplicates(path: string, names: readonly string[], findings: Findings): void {
  duplicates(
    names.map((name) => name.toLowerCase()),
    (index) =>
      findings.error(
        `${path}[${names[index] ?? ''}]`,
        'Duplicate',
        'is there twice in another case; remove one of them',
      ),
  );
}

function rateLimit({ value: { rateLimitService } }: ValidationInput, findings: Findings): void {
  if (rateLimitService === undefined) return;
  const { extensionService, defaultGlobalRateLimitPolicy } = rateLimitService;
  if (extensionService === undefined || extensionService === '')
    findings.error(
      'rateLimitService.extensionService',
      'Required',
      'must be given; name the ExtensionService as namespace/name',
    );
  else extension('rateLimitService.extensionService', extensionService, findings);
  descriptors(defaultGlobalRateLimitPolicy, findings);
}

const ENTRY_KINDS = ['genericKey', 'requestHeader', 'requestHeaderValueMatch', 'remoteAddress'];

function descriptors(policy: Readonly<Record<string, unknown>> | undefined, findings: Findings): void {
  const path = 'rateLimitService.defaultGlobalRateLimitPolicy';
  if (policy === undefined || policy['disabled'] === true) return;
  const list = policy['descriptors'];
  if (!Array.isArray(list) || list.length === 0) {
    findings.error(
      `${path}.descriptors`,
      'Required',
      'must have at least one descriptor; add one, or remove the policy',
    );
    return;
  }
  for (const [index, descriptor] of (list as readonly unknown[]).entries()) {
    const entries: unknown = isJsonObject(descriptor) ? descriptor['entries'] : undefined;
    const at = `${path}.descriptors[${index}]`;
    if (!Array.isArray(entries) || entries.length === 0) {
      findings.error(`${at}.entries`, 'Required', 'must have at least one entry; add one');
      continue;
    }
    for (const [entryIndex, entry] of (entries as readonly unknown[]).entries()) {
      const kinds = isJsonObject(entry) ? ENTRY_KINDS.filter((kind) => entry[kind] !== undefined) : [];
      if (kinds.length !== 1)
        findings.error(
          `${at}.entries[${entryIndex}]`,
          'InvalidValue',
          `must have exactly one of ${ENTRY_KINDS.join(', ')} (${kinds.length}); correct it`,
        );
      else descriptorEntry(`${at}.entries[${entryIndex}]`, entry as JsonObject, findings);
    }
  }
}

/** Checks a descriptor that every host has: an invalid one would break all hosts. */
function descriptorEntry(at: string, entry: JsonObject, findings: Findings): void {
  for (const [kind, value] of Object.entries(entry)) {
    const path = `${at}.${kind}`;
    if (!isJsonObject(value)) findings.error(path, 'WrongType', `must be an object (${shown(value)}); write an object`);
    else if (kind === 'genericKey') textField(`${path}.value`, value['value'], findings);
    else if (kind === 'requestHeader') {
      if (textField(`${path}.headerName`, value['headerName'], findings))
        findings.headerName(`${path}.headerName`, value['headerName'] as string);
      textField(`${path}.descriptorKey`, value['descriptorKey'], findings);
    } else if (kind === 'requestHeaderValueMatch') {
      textField(`${path}.value`, value['value'], findings);
      headerConditions(`${path}.headers`, value['headers'], findings);
    }
  }
}

function headerConditions(path: string, value: unknown, findings: Findings): void {
  if (!Array.isArray(value) || value.length === 0) {
    findings.error(path, 'Required', 'must have at least one condition; add one');
    return;
  }
  for (const [index, condition] of (value as readonly unknown[]).entries()) {
    const { name, regex } = isJsonObject(condition) ? condition : {};
    if (textField(`${path}[${index}].name`, name, findings))
      findings.headerName(`${path}[${index}].name`, name as string);
    try {
      if (typeof regex === 'string') compileRegexp(regex);
    } catch (error) {
      findings.error(
        `${path}[${index}].regex`,
        'InvalidValue',
        `is not a regular expression of RE2 (${(error as Error).message}); correct it`,
      );
    }
  }
}

/** Whether it is a text that is not empty. */
function textField(path: string, value: unknown, findings: Findings): boolean {
  if (typeof value === 'string' && value !== '') return true;
  findings.error(path, 'Required', `must be a text that is not empty (${shown(value ?? '')}); give it`);
  return false;
}

function extension(path: string, value: unknown, findings: Findings): void {
  if (typeof value === 'string') findings.qualifiedName(path, value);
  else findings.error(path, 'WrongType', `must be a text namespace/name (${shown(value)}); correct it`);
}

function authorisation({ value: { globalExtAuth } }: ValidationInput, findings: Findings): void {
  if (globalExtAuth === undefined) return;
  const { extensionRef, serviceType, responseTimeout, withRequestBody, httpSettings, authPolicy } = globalExtAuth;
  const { apiVersion = '' } = extensionRef ?? {};
  if (apiVersion !== '' && !/^project(sesame|contour)\.io\/v1alpha1$/.test(apiVersion))
    findings.error(
      'globalExtAuth.extensionRef.apiVersion',
      'NotSupported',
      `must be projectsesame.io/v1alpha1 (${shown(apiVersion)}); correct it, or remove it`,
    );
  if ((extensionRef?.name ?? '') === '')
    findings.error('globalExtAuth.extensionRef.name', 'Required', 'must be given; name the ExtensionService');
  else findings.objectName('globalExtAuth.extensionRef.name', extensionRef?.name ?? '');
  if ((extensionRef?.namespace ?? '') === '')
    findings.error(
      'globalExtAuth.extensionRef.namespace',
      'Required',
      'must be given; name the namespace of the ExtensionService',
    );
  else findings.namespaceName('globalExtAuth.extensionRef.namespace', extensionRef?.namespace ?? '');
  findings.oneOf('globalExtAuth.serviceType', serviceType, ['grpc', 'http']);
  if (responseTimeout !== undefined && responseTimeout !== '' && !['infinity', 'infinite'].includes(responseTimeout))
    findings.duration('globalExtAuth.responseTimeout', responseTimeout, 0);
  findings.count('globalExtAuth.withRequestBody.maxRequestBytes', withRequestBody?.maxRequestBytes);
  if (serviceType !== 'http') return;
  if (authPolicy?.context !== undefined)
    findings.error(
      'globalExtAuth.authPolicy.context',
      'Conflict',
      'is not sent to a service of the type http; remove it, or use serviceType grpc',
    );
  httpSettingsRules(httpSettings ?? {}, findings);
}

function httpSettingsRules(settings: Readonly<Record<string, unknown>>, findings: Findings): void {
  const path = 'globalExtAuth.httpSettings';
  const prefix = settings['pathPrefix'] ?? '';
  if (typeof prefix !== 'string' || (prefix !== '' && !prefix.startsWith('/')))
    findings.error(`${path}.pathPrefix`, 'InvalidValue', `must start with "/" (${shown(prefix)}); correct it`);
  for (const list of ['allowedAuthorizationHeaders', 'allowedUpstreamHeaders']) {
    const entries = settings[list] ?? [];
    if (!Array.isArray(entries)) {
      findings.error(`${path}.${list}`, 'WrongType', `must be an array (${shown(entries)}); write an array`);
      continue;
    }
    for (const [index, entry] of (entries as readonly unknown[]).entries()) {
      const given = HEADER_MATCHES.filter((match) => isJsonObject(entry) && (entry[match] ?? '') !== '');
      const [only] = given;
      if (given.length !== 1 || typeof (entry as JsonObject)[only ?? ''] !== 'string')
        findings.error(
          `${path}.${list}[${index}]`,
          'InvalidValue',
          `must have exactly one of ${HEADER_MATCHES.join(', ')}, a text (${shown(entry)}); correct it`,
        );
    }
  }
}

const HEADER_MATCHES = ['exact', 'prefix', 'suffix', 'contains'];

function tracing({ value: { tracing } }: ValidationInput, findings: Findings): void {
  if (tracing === undefined) return;
  for (const name of ['overallSampling', 'clientSampling', 'randomSampling'] as const) {
    const percent = tracing[name].trim() === '' ? Number.NaN : Number(tracing[name]);
    if (!(percent >= 0 && percent <= 100))
      findings.error(
        `tracing.${name}`,
        'InvalidValue',
        `must be a percentage from 0 to 100 (${shown(tracing[name])}); correct it`,
      );
  }
  findings.count('tracing.maxPathTagLength', tracing.maxPathTagLength);
  findings.notEmpty('tracing.serviceName', tracing.serviceName);
  if (tracing.extensionService === undefined || tracing.extensionService === '')
    findings.error(
      'tracing.extensionService',
      'Required',
      'must be given; name the ExtensionService as namespace/name',
    );
  else extension('tracing.extensionService', tracing.extensionService, findings);
  const tags = tracing.customTags ?? [];
  for (const [index, { tagName, literal = '', requestHeaderName = '' }] of tags.entries()) {
    const at = `tracing.customTags[${index}]`;
    if (tagName === undefined || tagName === '')
      findings.error(`${at}.tagName`, 'Required', 'must not be empty; name the tag');
    if ((literal === '') === (requestHeaderName === ''))
      findings.error(at, 'InvalidValue', 'must have exactly one of literal and requestHeaderName; correct it');
    if (requestHeaderName !== '') findings.headerName(`${at}.requestHeaderName`, requestHeaderName);
  }
  duplicates(
    tags.map(({ tagName }) => tagName),
    (index, name) =>
      findings.error(`tracing.customTags[${index}].tagName`, 'Duplicate', `is there twice (${shown(name)}); rename it`),
  );
}
