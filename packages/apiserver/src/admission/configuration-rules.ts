import type { UnknownObject } from '@capstan/kube';
import { type FieldError, fieldInvalid, fieldRequired } from '../errors.ts';
import { fieldDuplicate, fieldTooMany } from '../validation/rules.ts';
import type { ConditionCompiler } from './match-conditions.ts';
import { webhooksOf } from './webhook.ts';

const MAX_CONDITIONS = 64;
const URL_FORMAT = 'desired format: https://host[/path]';

/** What is wrong with where the webhooks of a configuration listen and with their conditions; the rest is the schema's. */
export function configurationRules(conditions: ConditionCompiler): (configuration: UnknownObject) => FieldError[] {
  return (configuration) =>
    webhooksOf(configuration).flatMap(({ clientConfig, matchConditions = [] }, index) => {
      const at = `webhooks[${index}]`;
      const errors: FieldError[] = [];
      const { url, caBundle } = (clientConfig as Partial<typeof clientConfig> | undefined) ?? {};
      if (url !== undefined) errors.push(...urlProblems(`${at}.clientConfig.url`, url));
      if (caBundle && !Buffer.from(caBundle, 'base64').toString('latin1').includes('-----BEGIN CERTIFICATE-----')) {
        const detail = 'unable to load root certificates: unable to parse bytes as PEM block';
        errors.push(fieldInvalid(`${at}.clientConfig.caBundle`, caBundle, detail));
      }
      if (matchConditions.length > MAX_CONDITIONS) {
        errors.push(fieldTooMany(`${at}.matchConditions`, matchConditions.length, MAX_CONDITIONS));
      }
      const names = new Set<string>();
      for (const [place, { name, expression }] of matchConditions.slice(0, MAX_CONDITIONS).entries()) {
        const here = `${at}.matchConditions[${place}]`;
        if (!name) errors.push(fieldRequired(`${here}.name`));
        else if (names.has(name)) errors.push(fieldDuplicate(`${here}.name`, name));
        names.add(name);
        if (!expression?.trim()) errors.push(fieldRequired(`${here}.expression`));
        else {
          const problem = conditions.problem(expression);
          if (problem !== undefined) errors.push(fieldInvalid(`${here}.expression`, expression, problem));
        }
      }
      return errors;
    });
}

function urlProblems(at: string, text: string): FieldError[] {
  const refuse = (detail: string) => [fieldInvalid(at, text, detail)];
  const url = URL.parse(text);
  if (!url) return refuse(`url must be a valid URL; ${URL_FORMAT}`);
  if (url.protocol !== 'https:') return refuse(`'https' is the only allowed URL scheme; ${URL_FORMAT}`);
  if (url.username !== '' || url.password !== '') return refuse('user information is not permitted in the URL');
  if (url.hash !== '') return refuse('fragments are not permitted in the URL');
  if (url.search !== '') return refuse('query parameters are not permitted in the URL');
  return [];
}
