/** Where all five kinds live. */
export const GROUP = 'kroxylicious.io';
export const VERSION = 'v1alpha1';

/** What the kinds share besides their group: `kubectl get kroxylicious` lists them all. */
export const COMMON = { group: GROUP, version: VERSION, scope: 'Namespaced' as const, categories: ['kroxylicious'] };

export const RESOLVED_REFS_COLUMN = {
  name: 'ResolvedRefs',
  jsonPath: '.status.conditions[?(@.type=="ResolvedRefs")].status',
};
export const ACCEPTED_COLUMN = { name: 'Accepted', jsonPath: '.status.conditions[?(@.type=="Accepted")].status' };
