export type { PreviewDelivery } from './deliveries.ts';
export * from './preview.ts';
