/** Where the kinds of the configuration and the deployment live. */
export const GROUP = 'projectsesame.io';
export const VERSION = 'v1alpha1';

/** The namespace of Sesame if no other is given. */
export const DEFAULT_NAMESPACE = 'projectsesame';

/** `kubectl get sesame` lists both kinds. */
export const COMMON = { group: GROUP, version: VERSION, scope: 'Namespaced' as const, categories: ['sesame'] };
