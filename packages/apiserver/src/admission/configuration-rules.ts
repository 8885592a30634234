import type { UnknownObject } from '@capstan/kube';
import { type FieldError, fieldInvalid, fieldRequired } from '../errors.ts';
import { fieldDuplicate, fieldTooMany } from '../validation/rules.ts';
import type { ConditionCompiler } from './match-conditions.ts';
import { webhooksOf } from './webhook.ts';

const MAX_CONDITIONS = 64;

/** Returns the errors of the authorities and conditions of webhooks; the other fields are in the validation of the kind. */
export function configurationRules(conditions: ConditionCompiler): (configuration: UnknownObject) => FieldError[] {
  return (configuration) =>
    webhooksOf(configuration).flatMap(({ clientConfig, matchConditions = [] }, index) => {
      const at = `webhooks[${index}]`;
      const errors: FieldError[] = [];
      const { caBundle } = (clientConfig as Partial<typeof clientConfig> | undefined) ?? {};
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
