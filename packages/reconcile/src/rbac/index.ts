export { digestKeyName, leaseName, SYSTEM_NAMESPACE } from '../system-names.ts';
export { type WideRule, wideRulesOf } from './excess.ts';
export * from './manifests.ts';
export { type NamespacedParts, namespacedPart, namespacedParts } from './namespaced.ts';
export type { ExcessReason } from './privileges.ts';
export { type OperatorRules, type PolicyRule, rulesOf } from './rules.ts';
export { IDENTITY_NAMESPACE } from './runtime-privileges.ts';
export { POLICY_MINOR, writePolicies } from './write-policies.ts';
