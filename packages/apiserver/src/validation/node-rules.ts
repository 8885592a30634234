import { canonicalJson, type Node, type Taint, validateLabelValue, validateQualifiedName } from '@capstan/kube';
import { fieldForbidden, fieldInvalid, fieldNotSupported, fieldRequired } from '../errors.ts';
import { cidr, type Errors, fieldDuplicate, NOT_NEGATIVE, named } from './rules.ts';

export function node(errors: Errors, object: Node, old: Node | undefined): void {
  const { spec, status } = object;
  taints(errors, spec?.taints ?? []);
  quantities(errors, status);
  for (const [index, block] of (spec?.podCIDRs ?? []).entries()) {
    cidr(errors, `spec.podCIDRs[${index}]`, block);
  }
  if (old) nodeUpdate(errors, object, old);
}

/** The checks of the status are the same. */
export function nodeStatus(errors: Errors, object: Node, old: Node | undefined): void {
  node(errors, object, old);
}

function nodeUpdate(errors: Errors, { spec, status }: Node, old: Node): void {
  const addresses = status?.addresses ?? [];
  const seen = new Set<string>();
  for (const [index, address] of addresses.entries()) {
    const id = canonicalJson(address);
    const isKnown = seen.has(id);
    seen.add(id);
    if (isKnown) {
      const shown = { Type: address.type, Address: address.address };
      errors.push(fieldDuplicate(`status.addresses[${index}]`, shown));
    }
  }
  const [before = [], after = []] = [old.spec?.podCIDRs, spec?.podCIDRs];
  if (before.length > 0) {
    const changed = before.length === after.length ? before.filter((one, index) => one !== after[index]).length : 1;
    const detail = 'node updates may not change podCIDR except from "" to valid';
    for (let count = 0; count < changed; count++) errors.push(fieldForbidden('spec.podCIDRs', detail));
  }
  if (old.spec?.providerID && old.spec.providerID !== spec?.providerID) {
    const detail = 'node updates may not change providerID except from "" to valid';
    errors.push(fieldForbidden('spec.providerID', detail));
  }
}

function quantities(errors: Errors, status: Node['status']): void {
  for (const field of ['capacity', 'allocatable'] as const) {
    for (const [name, value] of Object.entries(status?.[field] ?? {})) {
      if (Number.parseFloat(value) >= 0) continue;
      errors.push(fieldInvalid(`status.${field}.${name}`, value, NOT_NEGATIVE));
    }
  }
}

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function taints(errors: Errors, list: readonly Taint[]): void {
  const seen = new Set<string>();
  for (const [index, taint] of list.entries()) {
    const at = `metadata.taints[${index}]`;
    const { key, value = '', effect = '' } = taint as Partial<Taint> & { key: string };
    named(errors, `${at}.key`, key, validateQualifiedName(key));
    const problems = validateLabelValue(value);
    if (problems.length > 0) errors.push(fieldInvalid(`${at}.value`, value, problems.join(';')));
    if (effect === '') errors.push(fieldRequired(`${at}.effect`));
    else if (!EFFECTS.includes(effect)) errors.push(fieldNotSupported(`${at}.effect`, effect, EFFECTS));
    if (seen.has(`${effect}/${key}`)) {
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: taint.timeAdded ?? null };
      const { message, ...rest } = fieldDuplicate(at, shown);
      errors.push({ ...rest, message: `${message}: taints must be unique by key and effect pair` });
    }
    seen.add(`${effect}/${key}`);
  }
}
