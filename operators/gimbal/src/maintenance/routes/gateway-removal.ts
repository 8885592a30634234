import { type Json, listIn, objectIn, textIn } from './json.ts';
import type { IsGone, Reduced } from './route-kind.ts';

/** A rule that is left without references stays: the gateway answers 500 for it. */
export function withoutGatewayServices(spec: Json, isGone: IsGone): Reduced {
  const removed: { at: string; services: readonly unknown[] }[] = [];
  const warnings: string[] = [];
  const rules = listIn(spec['rules']).map((one, at) => {
    const rule = withoutMirrors(objectIn(one), isGone);
    if (rule['backendRefs'] === undefined) return rule;
    const references = listIn(rule['backendRefs']);
    const left = references.filter((each) => !isReferenceGone(objectIn(each), isGone));
    const place = textIn(rule['name']) ?? `rules[${at}]`;
    if (references.length > 0 && left.length === 0) {
      removed.push({ at: place, services: references });
      warnings.push(`${place} has no reference left: the gateway answers 500`);
    }
    const kept = left.map((each) => withoutMirrors(objectIn(each), isGone));
    return { ...rule, backendRefs: left.length === references.length ? kept : withShare(kept) };
  });
  return { spec: { ...spec, rules }, removed, warnings, isOrphaned: false };
}

function withoutMirrors(owner: Json, isGone: IsGone): Json {
  const filters = listIn(owner['filters']);
  const left = filters.filter((one) => {
    const { type, requestMirror } = objectIn(one);
    return type !== 'RequestMirror' || !isReferenceGone(objectIn(objectIn(requestMirror)['backendRef']), isGone);
  });
  return left.length === filters.length ? owner : { ...owner, filters: left };
}

function isReferenceGone({ group = '', kind = 'Service', name, namespace }: Json, isGone: IsGone): boolean {
  return group === '' && kind === 'Service' && isGone(textIn(name) ?? '', textIn(namespace));
}

function withShare(references: readonly Json[]): readonly Json[] {
  const isIdle = references.length > 0 && references.every(({ weight }) => weight === 0);
  return isIdle ? references.map((each) => ({ ...each, weight: 1 })) : references;
}
