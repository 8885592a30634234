// The labels and annotations that the runtime writes, in one place.

/** On every child: whose inventory it belongs to (see inventory.ts). Children are found by it. */
export const INVENTORY_LABEL = 'capstan.dev/inventory';
/** On every child, for people: `reconciler Kind.group namespace/name` of the owner. */
export const OWNER_ANNOTATION = 'capstan.dev/owner';
/** On objects that were there before us and that a plan keeps as its own: they are given back, never deleted. */
export const ADOPTED_ANNOTATION = 'capstan.dev/adopted';
/** On every applied child: the digest of the last sent body. */
export const APPLIED_ANNOTATION = 'capstan.dev/applied';
/** On objects that a plan changed: the inputs that changed, and the path from them. Never a value of a Secret. */
export const CAUSE_ANNOTATION = 'capstan.dev/cause';
/**
 * On children with a pod template: the cause of the last write that changed the template, kept while later writes (scaling)
 * do not. Absent when the last write was that one.
 */
export const ROLLED_ANNOTATION = 'capstan.dev/rolled';
/** On children: the memory that the plan stores with them. */
export const MEMORY_ANNOTATION = 'capstan.dev/memory';
/** Set by people on any object that we reconcile or apply: "true" stops writes to it. */
export const PAUSED_ANNOTATION = 'capstan.dev/paused';
/** On pod templates of ours: the digest of the template, by which a rolled-back one is recognised. */
export const TEMPLATE_ANNOTATION = 'capstan.dev/template';
/** On children with a pod template: digests of the templates that we applied, newest first. */
export const TEMPLATE_HISTORY_ANNOTATION = 'capstan.dev/template-history';
/** On a rolled-back child: the digest of the template that a user rolled back from; held while it is still desired. */
export const HELD_ANNOTATION = 'capstan.dev/held';
/** On exact children: the paths of foreign fields that were there before, as JSON. Others are removed (see diff/exactness.ts). */
export const EXACT_ANNOTATION = 'capstan.dev/exact';
/** On exact children: how often fields of a manager were removed, and when last, as JSON. Cleared when the plan of the child changes. */
export const REMOVALS_ANNOTATION = 'capstan.dev/removals';
/** Never on a real object: a preview created it, for inputs with this digest; its content is not known. */
export const PREVIEWED_ANNOTATION = 'capstan.dev/previewed';
/** Objects that a preview has created or changed have this resourceVersion, which no server gives. */
export const PREVIEWED_VERSION = '0';
/** On others' objects that we patch, followed by the inventory id: the values before our first patch. */
export const ORIGINAL_ANNOTATION_PREFIX = 'original.capstan.dev/';
/** On others' objects that we share, followed by the inventory id: the digest of our fields in them. */
export const SHARED_ANNOTATION_PREFIX = 'shared.capstan.dev/';
/** On others' objects that we patch, followed by the inventory id: the memory that the plan stores with them. */
export const MEMORY_ANNOTATION_PREFIX = 'memory.capstan.dev/';
