export type * from './bound-sink.ts';
export * from './delivery.ts';
export type { Delivery, DeliveryOptions } from './delivery-entry.ts';
export * from './key-sets.ts';
export * from './sink.ts';
export * from './sink-tables.ts';
