export type { Executed, FileAccess, Io } from '@capstan/reconcile/command-line';
