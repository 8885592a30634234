export { deliveriesOf, type PreviewDelivery } from './deliveries.ts';
export { type FindInstancesOptions, findInstances } from './instances.ts';
export * from './preview.ts';
export type { PreviewProblem } from './problems.ts';
export { unforeseenConditions } from './status-values.ts';
export { virtuallyApplied } from './virtual-objects/virtual.ts';
