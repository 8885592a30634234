export * from './faults/fault-log.ts';
export * from './faults/fault-schedule.ts';
export * from './faults/faulty-transport.ts';
export * from './faults/mortal-clock.ts';
export * from './random.ts';
export * from './virtual-clock.ts';
