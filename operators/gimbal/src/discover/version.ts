/** The version of the discoverers, as reported in metrics and in the status. */
export const VERSION = '0.1.0';
