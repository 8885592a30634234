/** The API group of all five kinds. */
export const GROUP = 'kroxylicious.io';
export const VERSION = 'v1alpha1';

/** The properties that all kinds share. `kubectl get kroxylicious` lists all of them by their category. */
export const COMMON = { group: GROUP, version: VERSION, scope: 'Namespaced' as const, categories: ['kroxylicious'] };

export const RESOLVED_REFS_COLUMN = {
  name: 'ResolvedRefs',
  jsonPath: '.status.conditions[?(@.type=="ResolvedRefs")].status',
};
export const ACCEPTED_COLUMN = { name: 'Accepted', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' };
