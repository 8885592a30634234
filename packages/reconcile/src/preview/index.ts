export type { PreviewDelivery } from './deliveries.ts';
export * from './preview.ts';
export type { PreviewProblem } from './problems.ts';
