export type { FileAccess, Io } from '@capstan/reconcile/command-line';
