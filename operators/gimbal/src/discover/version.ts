/** Of the discoverers; told in metrics and on the status. */
export const VERSION = '0.1.0';
