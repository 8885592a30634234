// An APIService is stored and nothing is aggregated: programs that inject certificates into APIServices find the kind and its objects.
import { type APIService, validateDns1035Label, validateDns1123Subdomain } from '@capstan/kube';
import { fieldInvalid, fieldRequired } from '../../errors.ts';
import type { Errors } from '../rules.ts';

const MAX_GROUP_PRIORITY = 20_000;
const MAX_VERSION_PRIORITY = 1_000;
const MAX_PORT = 65_535;

export function apiService(errors: Errors, { metadata, spec }: APIService): void {
  const { group = '', version = '', groupPriorityMinimum = 0, versionPriority = 0 } = spec ?? {};
  const { name = '' } = metadata;
  const wanted = `${version}.${group}`;
  if (name !== '' && name !== wanted) {
    const detail = `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`;
    errors.push(fieldInvalid('metadata.name', name, detail));
  }
  if (group === '' && version !== 'v1') {
    errors.push(fieldRequired('spec.group', 'only v1 may have an empty group and it better be legacy kube'));
  }
  for (const problem of group === '' ? [] : validateDns1123Subdomain(group)) {
    errors.push(fieldInvalid('spec.group', group, problem));
  }
  for (const problem of validateDns1035Label(version)) errors.push(fieldInvalid('spec.version', version, problem));
  const priority = (field: string, value: number, max: number) => {
    if (value > 0 && value <= max) return;
    errors.push(fieldInvalid(`spec.${field}`, value, `must be positive and less than ${max}`));
  };
  priority('groupPriorityMinimum', groupPriorityMinimum, MAX_GROUP_PRIORITY);
  priority('versionPriority', versionPriority, MAX_VERSION_PRIORITY);
  if (spec?.service) remoteService(errors, spec, spec.service);
  else localService(errors, spec);
}

function localService(errors: Errors, spec: APIService['spec']): void {
  const { caBundle = '', insecureSkipTLSVerify = false } = spec ?? {};
  if (caBundle !== '') {
    const size = `${Buffer.byteLength(caBundle, 'base64')} bytes`;
    errors.push(fieldInvalid('spec.caBundle', size, 'local APIServices may not have a caBundle'));
  }
  if (insecureSkipTLSVerify) {
    const detail = 'local APIServices may not have insecureSkipTLSVerify';
    errors.push(fieldInvalid('spec.insecureSkipTLSVerify', true, detail));
  }
}

type Spec = NonNullable<APIService['spec']>;

function remoteService(
  errors: Errors,
  spec: Spec,
  { name = '', namespace = '', port = 0 }: NonNullable<Spec['service']>,
) {
  if (namespace === '') errors.push(fieldRequired('spec.service.namespace', ''));
  if (name === '') errors.push(fieldRequired('spec.service.name', ''));
  if (port < 1 || port > MAX_PORT) {
    const detail = 'port is not valid: must be between 1 and 65535, inclusive';
    errors.push(fieldInvalid('spec.service.port', port, detail));
  }
  if (spec.insecureSkipTLSVerify === true && (spec.caBundle ?? '') !== '') {
    errors.push(fieldInvalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present'));
  }
}
