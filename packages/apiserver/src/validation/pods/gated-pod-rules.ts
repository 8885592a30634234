// The update of a pod with scheduling gates: gates can only be removed, and until the last one is gone the nodes on which the pod may
// run can be narrowed.
import type { NodeAffinity, NodeSelectorTerm, Pod, PodSpec } from '@capstan/kube';
import { fieldForbidden, fieldInvalid } from '../../errors.ts';
import { equalJson } from '../../json/copy.ts';
import type { Errors } from '../rules.ts';

/** Refuses gates that the pod did not have before. */
export function gatesUpdate(errors: Errors, { spec }: Pod, old: Pod): void {
  const known = new Set((old.spec?.schedulingGates ?? []).map(({ name }) => name));
  for (const [index, { name }] of (spec?.schedulingGates ?? []).entries()) {
    if (known.has(name)) continue;
    const detail = `only deletion is allowed, but found new scheduling gate '${name}'`;
    errors.push(fieldForbidden(`spec.schedulingGates[${index}].name`, detail));
  }
}

/** Returns the spec of a pod with its former node selector and node affinity, if it was gated; refuses changes that widen them. */
export function withoutNarrowing(errors: Errors, spec: PodSpec, old: PodSpec): PodSpec {
  if ((old.schedulingGates ?? []).length === 0) return spec;
  selectorUpdate(errors, spec.nodeSelector, old.nodeSelector ?? {});
  const { nodeSelector: _, affinity: _affinity, ...rest } = spec;
  const affinity = formerAffinity(errors, spec, old);
  return { ...rest, ...(old.nodeSelector && { nodeSelector: old.nodeSelector }), ...(affinity && { affinity }) };
}

function selectorUpdate(
  errors: Errors,
  selector: PodSpec['nodeSelector'],
  old: PodSpec['nodeSelector'] & object,
): void {
  if (Object.entries(old).every(([key, value]) => selector?.[key] === value)) return;
  const detail = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
  errors.push(fieldInvalid('spec.nodeSelector', selector ?? null, detail));
}

function formerAffinity(errors: Errors, { affinity }: PodSpec, old: PodSpec): PodSpec['affinity'] {
  const former = old.affinity?.nodeAffinity;
  if (equalJson(former, affinity?.nodeAffinity)) return affinity;
  nodeAffinityUpdate(errors, affinity?.nodeAffinity, former);
  const isNodeOnly = affinity?.podAffinity === undefined && affinity?.podAntiAffinity === undefined;
  if (old.affinity === undefined && isNodeOnly) return undefined;
  const { nodeAffinity: _, ...rest } = affinity ?? {};
  return { ...rest, ...(former && { nodeAffinity: former }) };
}

const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';

function nodeAffinityUpdate(errors: Errors, affinity: NodeAffinity | undefined, old: NodeAffinity | undefined): void {
  const before = old?.[REQUIRED]?.nodeSelectorTerms ?? [];
  const after = affinity?.[REQUIRED]?.nodeSelectorTerms;
  const path = `spec.affinity.nodeAffinity.${REQUIRED}.nodeSelectorTerms`;
  if (before.length > 0 && before.length !== (after ?? []).length) {
    const detail = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed';
    errors.push(fieldInvalid(path, after?.map(goTerm) ?? null, detail));
    return;
  }
  for (const [index, term] of before.entries()) {
    const next = after?.[index] ?? {};
    if (onlyAdds(next, term)) continue;
    const detail = 'only additions are allowed (no mutations or deletions)';
    errors.push(fieldInvalid(`${path}[${index}]`, goTerm(next), detail));
  }
}

function onlyAdds(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm) =>
    [matchExpressions, matchFields] as const;
  const [before, after] = [lists(old), lists(term)];
  // A term without requirements selects nothing, so that an addition would widen it.
  if (before.every((list) => list.length === 0)) return after.every((list) => list.length === 0);
  return before.every((list, index) => equalJson(after[index]?.slice(0, list.length) ?? [], list));
}

/** A term as messages show it: a struct of Go. */
function goTerm({ matchExpressions, matchFields }: NodeSelectorTerm): object {
  const shown = (list: NodeSelectorTerm['matchFields']) =>
    list?.map(({ key, operator, values = null }) => ({ Key: key, Operator: operator, Values: values })) ?? null;
  return { MatchExpressions: shown(matchExpressions), MatchFields: shown(matchFields) };
}
